-- Outside providers that a project's users sign in by.
CREATE TABLE auth.providers (
  project_id uuid NOT NULL,
  name text NOT NULL,
  organization_id uuid NOT NULL,
  enabled boolean NOT NULL,
  client_id text NOT NULL,
  -- Sealed; null for a client that has none.
  client_secret text,
  issuer text NOT NULL,
  scopes text[] NOT NULL,
  -- Of Apple.
  team_id text,
  key_id text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, name)
);

-- Who a user is at a provider. The issuer belongs to it: a provider's settings may name another one later, whose subjects
-- are other people.
CREATE TABLE auth.identities (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES auth.users ON DELETE CASCADE,
  provider text NOT NULL,
  issuer text NOT NULL,
  subject text NOT NULL,
  email text,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX identities_subject ON auth.identities (project_id, provider, issuer, subject);
CREATE INDEX identities_user_id ON auth.identities (user_id);

-- Sign-ins that wait: first for the provider, which has the state, then for the application, which gets the code.
CREATE TABLE auth.provider_sign_ins (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  provider text NOT NULL,
  state_hash bytea UNIQUE,
  code_hash bytea UNIQUE,
  code_challenge text NOT NULL,
  redirect_to text NOT NULL,
  -- Who links an identity; null for a sign-in.
  linking_user_id uuid REFERENCES auth.users ON DELETE CASCADE,
  -- What the provider said, sealed.
  identity text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX provider_sign_ins_expires_at ON auth.provider_sign_ins (expires_at);
CREATE INDEX provider_sign_ins_linking_user_id ON auth.provider_sign_ins (linking_user_id);
