-- Clients of the installation: they belong to no organization. One of a metadata document has its URL as its id.
CREATE TABLE oauth.clients (
  id text PRIMARY KEY,
  name text NOT NULL,
  uri text,
  logo_uri text,
  redirect_uris text[] NOT NULL,
  grant_types text[] NOT NULL,
  auth_method text NOT NULL,
  secret_hash bytea,
  scope text,
  created_at timestamptz NOT NULL,
  -- When the metadata document was read; null for a client that registered.
  fetched_at timestamptz
);
CREATE INDEX clients_created ON oauth.clients (created_at);

-- An app that a person connected to a project.
CREATE TABLE oauth.grants (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES core.organizations,
  project_id uuid NOT NULL REFERENCES core.projects,
  user_id uuid NOT NULL,
  client_id text NOT NULL,
  name text NOT NULL,
  scopes text[] NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  -- The refresh token that is valid, and since when.
  number integer NOT NULL,
  numbered_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX grants_name ON oauth.grants (organization_id, lower(name)) WHERE revoked_at IS NULL;
CREATE INDEX grants_client ON oauth.grants (client_id);

-- The access tokens of a grant.
CREATE TABLE oauth.grant_keys (
  grant_id uuid NOT NULL REFERENCES oauth.grants,
  key_id uuid PRIMARY KEY REFERENCES core.api_keys
);
CREATE INDEX grant_keys_grant ON oauth.grant_keys (grant_id);

-- What a client asked for, until a person decided and the client fetched the answer.
CREATE TABLE oauth.authorizations (
  id uuid PRIMARY KEY,
  flow text NOT NULL CHECK (flow IN ('code', 'device')),
  client_id text NOT NULL,
  scopes text[] NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'redeemed')),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  redirect_uri text,
  state text,
  code_challenge text,
  -- SHA-256 of the code or of the device code.
  secret_hash bytea UNIQUE,
  user_code text UNIQUE,
  poll_seconds integer,
  polled_at timestamptz,
  user_id uuid,
  organization_id uuid,
  project_id uuid,
  grant_id uuid REFERENCES oauth.grants
);
CREATE INDEX authorizations_expire ON oauth.authorizations (expires_at);
