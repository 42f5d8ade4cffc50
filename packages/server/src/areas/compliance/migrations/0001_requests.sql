-- Requests of people about what is stored of them.
CREATE TABLE compliance.requests (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('access', 'erasure', 'rectification')),
  status text NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed', 'rejected')),
  subject_type text NOT NULL CHECK (subject_type IN ('end_user', 'member')),
  -- Null once an erasure is completed; the hash stays.
  subject_email text,
  -- SHA-256 of the address in lower case.
  subject_email_hash bytea,
  -- The subject's ids and addresses, as they were found when the request was made.
  subject_ids uuid[] NOT NULL,
  subject_emails text[] NOT NULL,
  details text,
  note text,
  -- `{type, id, name}`
  requested_by jsonb NOT NULL,
  received_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  started_at timestamptz,
  completed_at timestamptz,
  -- `[{table, action, rows, reason}]`, written together with what it tells.
  report jsonb NOT NULL,
  -- Why the last attempt to fulfil it failed.
  failure text,
  archive_address text,
  archive_bytes bigint,
  archive_sha256 bytea,
  archive_expires_at timestamptz
);
CREATE INDEX requests_organization_id ON compliance.requests (organization_id, received_at DESC, id DESC);
CREATE INDEX requests_archives ON compliance.requests (archive_expires_at) WHERE archive_address IS NOT NULL;

-- What an organization consented to; rows are added and never changed.
CREATE TABLE compliance.consents (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  marketing boolean NOT NULL,
  analytics boolean NOT NULL,
  ai_training boolean NOT NULL,
  policy_version text,
  -- A person or a key.
  updated_by uuid NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX consents_organization_id ON compliance.consents (organization_id, updated_at DESC, id DESC);
