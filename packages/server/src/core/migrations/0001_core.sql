-- Who uses the platform: people, tenants, projects, keys.

CREATE TABLE core.users (
  id uuid PRIMARY KEY,
  email text NOT NULL,
  name text NOT NULL,
  password_hash text NOT NULL,
  failed_logins integer NOT NULL DEFAULT 0,
  locked_until timestamptz,
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_email ON core.users (lower(email));

CREATE TABLE core.sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES core.users ON DELETE CASCADE,
  token_hash bytea NOT NULL UNIQUE,
  ip text,
  user_agent text,
  created_at timestamptz NOT NULL,
  authenticated_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_user_id ON core.sessions (user_id);

CREATE TABLE core.organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  slug text NOT NULL UNIQUE,
  plan text NOT NULL,
  -- Granted by the operator above the plan; null: the plan's.
  requests_per_second integer,
  created_at timestamptz NOT NULL,
  deleted_at timestamptz
);

CREATE TABLE core.projects (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES core.organizations,
  name text NOT NULL,
  slug text NOT NULL,
  region text NOT NULL,
  created_at timestamptz NOT NULL,
  deleted_at timestamptz
);
CREATE UNIQUE INDEX projects_name ON core.projects (organization_id, lower(name)) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX projects_slug ON core.projects (organization_id, slug) WHERE deleted_at IS NULL;

CREATE TABLE core.members (
  organization_id uuid NOT NULL REFERENCES core.organizations,
  user_id uuid NOT NULL REFERENCES core.users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  -- null: every project
  project_ids uuid[],
  joined_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX members_user_id ON core.members (user_id);

CREATE TABLE core.invitations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES core.organizations,
  email text NOT NULL,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  project_ids uuid[],
  token_hash bytea NOT NULL UNIQUE,
  invited_by uuid REFERENCES core.users ON DELETE SET NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  accepted_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX invitations_organization_id ON core.invitations (organization_id);

CREATE TABLE core.api_keys (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES core.organizations,
  project_id uuid REFERENCES core.projects,
  type text NOT NULL,
  name text NOT NULL,
  prefix text NOT NULL,
  secret_hash bytea NOT NULL UNIQUE,
  scopes text[] NOT NULL,
  read_only boolean NOT NULL,
  require_approval boolean NOT NULL,
  ip_allowlist text[] NOT NULL,
  created_by uuid REFERENCES core.users ON DELETE SET NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  last_used_at timestamptz,
  rotated_from_id uuid REFERENCES core.api_keys,
  -- Set when the key is rotated: its secret works until then.
  grace_expires_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX api_keys_organization_id ON core.api_keys (organization_id, created_at DESC);
-- A key is rotated once; the second rotation is the new key's.
CREATE UNIQUE INDEX api_keys_rotated_from_id ON core.api_keys (rotated_from_id);

-- Audit: one hash chain a tenant (an organization, or a user for account events).
CREATE TABLE core.audit_heads (
  tenant_id uuid PRIMARY KEY,
  sequence bigint NOT NULL,
  hash bytea NOT NULL
);

CREATE TABLE core.audit_events (
  tenant_id uuid NOT NULL,
  sequence bigint NOT NULL,
  id uuid NOT NULL,
  action text NOT NULL,
  occurred_at timestamptz NOT NULL,
  outcome text NOT NULL,
  -- The hashed parts as the text that was hashed, so that a later PostgreSQL cannot print them differently.
  actor json NOT NULL,
  targets json NOT NULL,
  context json NOT NULL,
  metadata json NOT NULL,
  prev_hash bytea NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (tenant_id, sequence)
);
CREATE INDEX audit_events_occurred_at ON core.audit_events (tenant_id, occurred_at DESC);
CREATE INDEX audit_events_action ON core.audit_events (tenant_id, action, sequence DESC);

CREATE FUNCTION core.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit events are never changed or deleted';
END $$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON core.audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION core.refuse_change();

-- Metering: counts by day, added to in batches.
CREATE TABLE core.usage (
  organization_id uuid NOT NULL,
  -- All zeros: no project, no key (a console session).
  project_id uuid NOT NULL,
  key_id uuid NOT NULL,
  metric text NOT NULL,
  day date NOT NULL,
  quantity double precision NOT NULL,
  PRIMARY KEY (organization_id, day, metric, key_id, project_id)
);

CREATE TABLE core.approvals (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES core.organizations,
  project_id uuid,
  key_id uuid NOT NULL REFERENCES core.api_keys,
  key_name text NOT NULL,
  operation text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  summary text NOT NULL,
  request_digest text NOT NULL,
  -- The input, sealed: it may hold what nobody but the operation should read.
  sealed_request text NOT NULL,
  ip text NOT NULL,
  status text NOT NULL,
  requested_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_by uuid REFERENCES core.users ON DELETE SET NULL,
  decided_at timestamptz,
  comment text,
  executing_since timestamptz,
  result_status integer,
  -- Sealed too.
  result_body text
);
CREATE INDEX approvals_organization_id ON core.approvals (organization_id, requested_at DESC);
CREATE INDEX approvals_key_id ON core.approvals (key_id);
CREATE INDEX approvals_open ON core.approvals (status) WHERE status IN ('pending', 'approved', 'executing');

-- Facts of this installation that every process must agree on.
CREATE TABLE core.installation (
  name text PRIMARY KEY,
  value text NOT NULL
);
