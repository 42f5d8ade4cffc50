-- Functions, their code by version, and what became of their invocations.

CREATE TABLE functions.functions (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  name text NOT NULL,
  description text NOT NULL,
  labels jsonb NOT NULL,
  -- Whether its URL answers without a key.
  is_public boolean NOT NULL,
  -- The version that is invoked: the newest.
  version integer NOT NULL,
  status text NOT NULL CHECK (status IN ('ACTIVE', 'FAILED')),
  status_reason text,
  invocation_count bigint NOT NULL,
  last_invoked_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX functions_name ON functions.functions (organization_id, project_id, name);

-- Files in one gzip, kept once for an organization.
CREATE TABLE functions.codes (
  organization_id uuid NOT NULL,
  sha256 text NOT NULL,
  pack bytea NOT NULL,
  size_bytes bigint NOT NULL,
  files integer NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, sha256)
);
-- It is compressed already.
ALTER TABLE functions.codes ALTER COLUMN pack SET STORAGE EXTERNAL;

CREATE TABLE functions.versions (
  organization_id uuid NOT NULL,
  function_id uuid NOT NULL REFERENCES functions.functions ON DELETE CASCADE,
  version integer NOT NULL,
  runtime text NOT NULL,
  handler text NOT NULL,
  code_sha256 text NOT NULL,
  memory_mb integer NOT NULL,
  timeout_seconds integer NOT NULL,
  vcpus double precision NOT NULL,
  -- Sealed JSON; null: none.
  env text,
  env_names text[] NOT NULL,
  concurrency integer NOT NULL,
  min_instances integer NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (function_id, version),
  FOREIGN KEY (organization_id, code_sha256) REFERENCES functions.codes
);
CREATE INDEX versions_code ON functions.versions (organization_id, code_sha256);
CREATE INDEX versions_warm ON functions.versions (function_id) WHERE min_instances > 0;

CREATE TABLE functions.invocations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  function_id uuid NOT NULL REFERENCES functions.functions ON DELETE CASCADE,
  function_version integer NOT NULL,
  trigger text NOT NULL CHECK (trigger IN ('invoke', 'http', 'event', 'cron')),
  mode text NOT NULL CHECK (mode IN ('sync', 'async')),
  status text NOT NULL CHECK (status IN ('queued', 'running', 'success', 'error', 'timeout')),
  status_code integer,
  attempt integer NOT NULL,
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  queue_ms double precision,
  init_duration_ms double precision,
  duration_ms double precision,
  memory_mb integer NOT NULL,
  max_memory_used_mb integer,
  cold_start boolean,
  payload_bytes integer NOT NULL,
  response_bytes integer,
  -- JSON, which may hold what jsonb cannot.
  result text,
  error jsonb,
  request_id text
);
CREATE INDEX invocations_function ON functions.invocations (function_id, created_at DESC, id DESC);
CREATE INDEX invocations_created_at ON functions.invocations (created_at);

-- Of asynchronous invocations, until they succeed or are forgotten.
CREATE TABLE functions.payloads (
  invocation_id uuid PRIMARY KEY REFERENCES functions.invocations ON DELETE CASCADE,
  payload text NOT NULL
);

CREATE TABLE functions.logs (
  id bigserial PRIMARY KEY,
  organization_id uuid NOT NULL,
  function_id uuid NOT NULL REFERENCES functions.functions ON DELETE CASCADE,
  -- Null: printed while nothing was invoked.
  invocation_id uuid,
  at timestamptz NOT NULL,
  stream text NOT NULL CHECK (stream IN ('stdout', 'stderr', 'platform')),
  message text NOT NULL
);
CREATE INDEX logs_function ON functions.logs (function_id, id);
CREATE INDEX logs_invocation ON functions.logs (invocation_id, id);
CREATE INDEX logs_at ON functions.logs (at);
