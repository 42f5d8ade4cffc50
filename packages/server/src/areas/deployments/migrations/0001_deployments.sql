-- Deployments, what they run by version, and the instances that run it.

CREATE TABLE deployments.deployments (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  name text NOT NULL,
  -- First label of its host names, the same as long as it lives.
  host_label text NOT NULL UNIQUE,
  labels jsonb NOT NULL,
  -- Whether requests need no key.
  is_public boolean NOT NULL,
  min_instances integer NOT NULL,
  max_instances integer NOT NULL,
  -- Number of the newest.
  newest_version integer NOT NULL,
  -- What is to run: a version, and how often it was made to run anew.
  version integer NOT NULL,
  generation integer NOT NULL,
  -- What last had all its instances ready; null: nothing.
  ready_version integer,
  ready_generation integer,
  -- What could not take the place of that; null: nothing.
  failed_generation integer,
  failed_reason text,
  -- As the host saw it that runs it.
  status text NOT NULL CHECK (status IN ('DEPLOYING', 'RUNNING', 'DEGRADED', 'FAILED', 'STOPPED')),
  status_reason text,
  ready_instances integer NOT NULL,
  -- Which runs all its instances; null: none yet.
  host_id uuid,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX deployments_name ON deployments.deployments (organization_id, project_id, name);
CREATE INDEX deployments_host ON deployments.deployments (host_id);

CREATE TABLE deployments.versions (
  version_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  deployment_id uuid NOT NULL REFERENCES deployments.deployments ON DELETE CASCADE,
  number integer NOT NULL,
  version_status text NOT NULL CHECK (version_status IN ('DEPLOYING', 'READY', 'FAILED')),
  version_reason text,
  kind text NOT NULL,
  image text NOT NULL,
  image_digest text,
  command text[],
  args text[],
  -- Sealed JSON; null: none.
  env text,
  env_names text[] NOT NULL,
  ports integer[] NOT NULL,
  vcpus double precision NOT NULL,
  memory_mb integer NOT NULL,
  restart_policy text NOT NULL,
  max_retries integer NOT NULL,
  -- Null: the first of the ports.
  health_port integer,
  health_path text,
  health_interval_seconds integer NOT NULL,
  health_timeout_seconds integer NOT NULL,
  health_grace_seconds integer NOT NULL,
  unhealthy_threshold integer NOT NULL,
  deployed_at timestamptz NOT NULL,
  UNIQUE (deployment_id, number)
);
CREATE INDEX versions_image ON deployments.versions (image_digest) WHERE image_digest IS NOT NULL;

-- Written by the host that runs them; a deployment may be gone before its last one is.
CREATE TABLE deployments.instances (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  deployment_id uuid NOT NULL,
  number integer NOT NULL,
  port integer,
  host_id uuid NOT NULL,
  status text NOT NULL,
  status_reason text,
  restart_count integer NOT NULL,
  in_flight_requests integer NOT NULL,
  requests bigint NOT NULL,
  exit_code integer,
  oom_killed boolean NOT NULL,
  started_at timestamptz NOT NULL,
  stopped_at timestamptz
);
CREATE INDEX instances_deployment ON deployments.instances (deployment_id, started_at);
CREATE INDEX instances_host ON deployments.instances (host_id) WHERE stopped_at IS NULL;
