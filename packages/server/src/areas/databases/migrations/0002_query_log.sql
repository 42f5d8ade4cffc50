-- What was run in tenant databases, without constants. Kept for a week.

CREATE TABLE databases.query_log (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  project_id uuid NOT NULL,
  database_id uuid NOT NULL,
  branch_id uuid NOT NULL,
  query_id text NOT NULL,
  sql text NOT NULL,
  command text,
  sqlstate text,
  error text,
  rows bigint,
  duration_ms double precision NOT NULL,
  wake_ms double precision NOT NULL,
  started_at timestamptz NOT NULL,
  source text NOT NULL CHECK (source IN ('http', 'wire')),
  key_id uuid,
  user_name text,
  application_name text,
  client_addr text,
  read_only boolean NOT NULL,
  request_id text
);
CREATE INDEX query_log_newest ON databases.query_log (tenant_id, started_at DESC);
CREATE INDEX query_log_branch ON databases.query_log (branch_id, started_at DESC);
CREATE INDEX query_log_started_at ON databases.query_log (started_at);
