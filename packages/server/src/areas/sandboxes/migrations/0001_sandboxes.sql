-- Sandboxes. A row is written before its workload is used, and says what should be: the host makes it so again after a crash.

CREATE TABLE sandboxes.sandboxes (
  -- Also the id of the workload.
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- The project, or the organization.
  owner_id uuid NOT NULL,
  project_id uuid,
  -- The host that runs it, and has its disk.
  host_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('ephemeral', 'persistent')),
  name text,
  status text NOT NULL CHECK (status IN ('PROVISIONING', 'RUNNING', 'STOPPED', 'FAILED')),
  stop_reason text,
  status_reason text,
  template text NOT NULL,
  vcpus double precision NOT NULL,
  memory_mb integer NOT NULL,
  disk_gb integer NOT NULL,
  timeout_seconds integer,
  idle_timeout_seconds integer NOT NULL,
  -- Sealed JSON; null without variables.
  env text,
  env_names text[] NOT NULL,
  labels jsonb NOT NULL,
  cwd text NOT NULL,
  guest_user text NOT NULL,
  network jsonb NOT NULL,
  isolation text NOT NULL,
  cold_start boolean,
  provision_ms integer,
  expires_at timestamptz,
  last_activity_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  started_at timestamptz,
  stopped_at timestamptz
);
CREATE INDEX sandboxes_owner ON sandboxes.sandboxes (organization_id, owner_id, created_at DESC, id DESC);
CREATE INDEX sandboxes_host ON sandboxes.sandboxes (host_id)
  WHERE kind = 'persistent' OR status IN ('PROVISIONING', 'RUNNING');
CREATE INDEX sandboxes_ended ON sandboxes.sandboxes (stopped_at)
  WHERE kind = 'ephemeral' AND status IN ('STOPPED', 'FAILED');
