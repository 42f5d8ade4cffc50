-- Computers. A row says what should be: the host makes it so again after a crash.

CREATE SEQUENCE computers.addresses AS bigint MINVALUE 1 MAXVALUE 4194302 CYCLE;

CREATE TABLE computers.computers (
  -- Also the id of the workload.
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- The project, or the organization.
  owner_id uuid NOT NULL,
  project_id uuid,
  -- The host that has its disk.
  host_id uuid NOT NULL,
  name text NOT NULL,
  status text NOT NULL CHECK (status IN ('CREATING', 'RUNNING', 'STOPPED', 'ERROR')),
  status_reason text,
  -- It should run, and does not because its host is gone.
  host_lost boolean NOT NULL,
  vcpus double precision NOT NULL,
  memory_mb integer NOT NULL,
  disk_gb integer NOT NULL,
  image text NOT NULL,
  ssh_keys text[] NOT NULL,
  -- Sealed JSON; null without variables.
  env text,
  env_names text[] NOT NULL,
  labels jsonb NOT NULL,
  private_ip text NOT NULL,
  isolation text NOT NULL,
  auto_stop_seconds integer NOT NULL,
  last_activity_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  started_at timestamptz,
  stopped_at timestamptz
);
CREATE UNIQUE INDEX computers_name ON computers.computers (organization_id, owner_id, name);
CREATE UNIQUE INDEX computers_private_ip ON computers.computers (private_ip);
CREATE INDEX computers_owner ON computers.computers (organization_id, owner_id, created_at DESC, id DESC);
CREATE INDEX computers_host ON computers.computers (host_id);
