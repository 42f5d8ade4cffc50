-- Run services, what they run by revision, the instances that run it, and how requests were answered.

CREATE TABLE run_services.services (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  name text NOT NULL,
  -- First label of its host name, the same as long as it lives.
  host_label text NOT NULL UNIQUE,
  labels jsonb NOT NULL,
  -- Whether requests need no key.
  is_public boolean NOT NULL,
  min_instances integer NOT NULL,
  max_instances integer NOT NULL,
  -- Number of the newest.
  revision integer NOT NULL,
  -- Number of the newest that has been ready; null: none.
  ready_revision integer,
  -- [{revision, percent, tag}]; a revision of null is the newest that is ready.
  traffic jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX services_name ON run_services.services (organization_id, project_id, name);
CREATE INDEX services_kept ON run_services.services (id) WHERE min_instances > 0;

CREATE TABLE run_services.revisions (
  revision_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  service_id uuid NOT NULL REFERENCES run_services.services ON DELETE CASCADE,
  number integer NOT NULL,
  status text NOT NULL CHECK (status IN ('DEPLOYING', 'READY', 'FAILED')),
  status_reason text,
  image text NOT NULL,
  image_digest text,
  files_sha256 text,
  files_size_bytes bigint NOT NULL,
  command text[],
  args text[],
  -- Sealed JSON; null: none.
  env text,
  env_names text[] NOT NULL,
  port integer NOT NULL,
  vcpus double precision NOT NULL,
  memory_mb integer NOT NULL,
  concurrency integer NOT NULL,
  timeout_seconds integer NOT NULL,
  idle_timeout_seconds integer NOT NULL,
  health_path text,
  health_interval_seconds integer NOT NULL,
  health_timeout_seconds integer NOT NULL,
  health_grace_seconds integer NOT NULL,
  unhealthy_threshold integer NOT NULL,
  deployed_at timestamptz NOT NULL,
  UNIQUE (service_id, number)
);
CREATE INDEX revisions_image ON run_services.revisions (image_digest) WHERE image_digest IS NOT NULL;

-- Files in one gzip, kept once for a service.
CREATE TABLE run_services.files (
  organization_id uuid NOT NULL,
  service_id uuid NOT NULL REFERENCES run_services.services ON DELETE CASCADE,
  sha256 text NOT NULL,
  pack bytea NOT NULL,
  PRIMARY KEY (service_id, sha256)
);
-- It is compressed already.
ALTER TABLE run_services.files ALTER COLUMN pack SET STORAGE EXTERNAL;

-- Written by the hosts that run them; a service may be gone before its last one is.
CREATE TABLE run_services.instances (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  service_id uuid NOT NULL,
  revision_id uuid NOT NULL,
  host_id uuid NOT NULL,
  status text NOT NULL,
  status_reason text,
  in_flight_requests integer NOT NULL,
  requests bigint NOT NULL,
  exit_code integer,
  oom_killed boolean NOT NULL,
  started_at timestamptz NOT NULL,
  stopped_at timestamptz
);
CREATE INDEX instances_service ON run_services.instances (service_id, started_at);
CREATE INDEX instances_host ON run_services.instances (host_id) WHERE stopped_at IS NULL;

-- Requests of ten seconds as one host answered them.
CREATE TABLE run_services.figures (
  organization_id uuid NOT NULL,
  service_id uuid NOT NULL,
  host_id uuid NOT NULL,
  at timestamptz NOT NULL,
  requests integer NOT NULL,
  errors integer NOT NULL,
  -- How many answers began how soon: counts by bucket.
  latencies integer[] NOT NULL,
  PRIMARY KEY (service_id, at, host_id)
);
CREATE INDEX figures_at ON run_services.figures (at);
