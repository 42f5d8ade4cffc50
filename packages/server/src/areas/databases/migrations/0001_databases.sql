-- Tenant databases, their branches, and the volumes that hold the data of branches.

CREATE TABLE databases.databases (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  name text NOT NULL,
  pg_version integer NOT NULL,
  isolation text NOT NULL,
  -- creating: not shown to anybody yet.
  state text NOT NULL CHECK (state IN ('creating', 'active', 'deleted')),
  is_default boolean NOT NULL,
  parent_id uuid,
  default_branch_id uuid NOT NULL,
  suspend_timeout_seconds integer NOT NULL,
  history_retention_seconds integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  last_active_at timestamptz,
  deleted_at timestamptz,
  purge_at timestamptz
);
-- A deleted database keeps its name until it is purged, so that it can always come back.
CREATE UNIQUE INDEX databases_name ON databases.databases (organization_id, name);
CREATE UNIQUE INDEX databases_default ON databases.databases (project_id) WHERE is_default AND state IN ('creating', 'active');
CREATE INDEX databases_project ON databases.databases (organization_id, project_id, created_at DESC);
CREATE INDEX databases_purge_at ON databases.databases (purge_at) WHERE state = 'deleted';

-- What the engine holds, or may hold: a row is written before the engine makes the volume, and deleted after the engine
-- has freed it, so a crash leaves nothing behind that nobody knows of.
CREATE TABLE databases.volumes (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- No reference: a volume may outlive its database until the engine has freed it.
  database_id uuid NOT NULL,
  pg_version integer NOT NULL,
  isolation text NOT NULL,
  state text NOT NULL CHECK (state IN ('creating', 'ready', 'doomed')),
  logical_size_bytes bigint NOT NULL,
  physical_size_bytes bigint NOT NULL,
  history_size_bytes bigint NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX volumes_database ON databases.volumes (database_id);
CREATE INDEX volumes_unfinished ON databases.volumes (created_at) WHERE state <> 'ready';

CREATE TABLE databases.branches (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  database_id uuid NOT NULL REFERENCES databases.databases ON DELETE CASCADE,
  name text NOT NULL,
  parent_id uuid REFERENCES databases.branches,
  parent_lsn text,
  parent_timestamp timestamptz,
  protected boolean NOT NULL,
  state text NOT NULL CHECK (state IN ('creating', 'ready')),
  volume_id uuid NOT NULL REFERENCES databases.volumes,
  -- Passwords of the owner and the reader, sealed.
  credentials text NOT NULL,
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX branches_name ON databases.branches (database_id, name);
CREATE INDEX branches_expires_at ON databases.branches (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX branches_parent ON databases.branches (parent_id);
CREATE INDEX branches_volume ON databases.branches (volume_id);

-- Awake times, for bills and for advice.
CREATE TABLE databases.wakes (
  branch_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  started_at timestamptz NOT NULL,
  ended_at timestamptz,
  wake_ms integer NOT NULL,
  PRIMARY KEY (branch_id, started_at)
);
CREATE INDEX wakes_started_at ON databases.wakes (started_at);
