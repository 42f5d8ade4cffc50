-- Builds of projects: what was asked for and what became of it, what they said, and the folders that were uploaded for them.

CREATE TABLE builds.builds (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('QUEUED', 'WORKING', 'SUCCESS', 'FAILURE', 'TIMEOUT', 'CANCELLED')),
  status_reason text,
  source text NOT NULL CHECK (source IN ('git', 'upload')),
  repository text,
  branch text,
  commit_sha text,
  context_path text,
  -- Opens the repository: sealed, and only until the build is over.
  auth_token text,
  image_repository text NOT NULL,
  image_tag text NOT NULL,
  image_digest text,
  image_size_bytes bigint,
  dockerfile_path text,
  -- All of them, sealed; and as they are shown.
  build_args text NOT NULL,
  build_args_shown jsonb NOT NULL,
  target text,
  no_cache boolean NOT NULL,
  timeout_seconds integer NOT NULL,
  cached_steps integer NOT NULL DEFAULT 0,
  total_steps integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX builds_created_at ON builds.builds (project_id, created_at);
CREATE INDEX builds_age ON builds.builds (created_at);

CREATE TABLE builds.lines (
  project_id uuid NOT NULL,
  build_id uuid NOT NULL,
  number integer NOT NULL,
  at timestamptz NOT NULL,
  step integer NOT NULL,
  stream text NOT NULL,
  message text NOT NULL,
  PRIMARY KEY (project_id, build_id, number),
  FOREIGN KEY (project_id, build_id) REFERENCES builds.builds ON DELETE CASCADE
);

CREATE TABLE builds.uploads (
  project_id uuid NOT NULL,
  build_id uuid NOT NULL,
  -- Where the archive is in the blob store.
  blob text NOT NULL,
  PRIMARY KEY (project_id, build_id),
  FOREIGN KEY (project_id, build_id) REFERENCES builds.builds ON DELETE CASCADE
);
