-- Users of tenants' applications, by project.
CREATE TABLE auth.users (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  email text NOT NULL,
  email_confirmed_at timestamptz,
  -- Null: the user signs in by mail alone.
  password_hash text,
  -- Where the sign-up came from: an IPv4 address or an IPv6 /64; null: the owner created or invited the user.
  signup_source text,
  user_metadata jsonb NOT NULL,
  app_metadata jsonb NOT NULL,
  banned_until timestamptz,
  last_sign_in_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_email ON auth.users (project_id, lower(email));
CREATE INDEX users_project_id ON auth.users (project_id, created_at DESC, id DESC);

-- What a project chose; none: the defaults.
CREATE TABLE auth.settings (
  project_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- Those fields of the operation's body that were sent.
  chosen jsonb NOT NULL,
  updated_at timestamptz NOT NULL
);

-- Keys that access tokens are signed with.
CREATE TABLE auth.signing_keys (
  project_id uuid NOT NULL,
  kid text NOT NULL,
  organization_id uuid NOT NULL,
  -- `next` is published before it signs; `old` is published until its tokens have expired.
  state text NOT NULL CHECK (state IN ('current', 'next', 'old')),
  public_key jsonb NOT NULL,
  -- PKCS 8 (PEM), sealed.
  private_key text NOT NULL,
  created_at timestamptz NOT NULL,
  -- When it began to sign, and when it ended.
  current_at timestamptz,
  old_at timestamptz,
  PRIMARY KEY (project_id, kid)
);
CREATE UNIQUE INDEX signing_keys_current ON auth.signing_keys (project_id) WHERE state = 'current';
CREATE UNIQUE INDEX signing_keys_next ON auth.signing_keys (project_id) WHERE state = 'next';

-- A sign-in: the family of numbered refresh tokens.
CREATE TABLE auth.sessions (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES auth.users ON DELETE CASCADE,
  -- The valid refresh token, and since when it is.
  number bigint NOT NULL,
  numbered_at timestamptz NOT NULL,
  level text NOT NULL CHECK (level IN ('aal1', 'aal2')),
  -- How the user proved who they are (RFC 8176).
  methods text[] NOT NULL,
  ip text NOT NULL,
  user_agent text,
  created_at timestamptz NOT NULL,
  -- Moves with each refresh.
  idle_until timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_user_id ON auth.sessions (user_id, numbered_at DESC, id DESC);
CREATE INDEX sessions_expires_at ON auth.sessions (least(idle_until, expires_at));

-- Mails that prove an address. Rows stay until they expire, used or not, because limits count them; there is one for
-- an address without a user too, so that both cost the same.
CREATE TABLE auth.mails (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  kind text NOT NULL,
  -- SHA-256 of the project and the address in lower case.
  account bytea NOT NULL,
  -- An IPv4 address or an IPv6 /64.
  source text NOT NULL,
  email text NOT NULL,
  -- Null until the mail is sent, where there is nobody to send it to, and once it is of no use.
  user_id uuid REFERENCES auth.users ON DELETE CASCADE,
  token_hash bytea UNIQUE,
  code_hash bytea,
  -- Codes that were tried.
  tries integer NOT NULL,
  redirect_to text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX mails_account ON auth.mails (account, created_at);
CREATE INDEX mails_source ON auth.mails (project_id, source, created_at);
CREATE INDEX mails_user_id ON auth.mails (user_id);
CREATE INDEX mails_expires_at ON auth.mails (expires_at);

-- Sign-ins that wait for the second factor.
CREATE TABLE auth.waiting (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES auth.users ON DELETE CASCADE,
  token_hash bytea NOT NULL UNIQUE,
  source text NOT NULL,
  methods text[] NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX waiting_user_id ON auth.waiting (user_id, created_at DESC);
CREATE INDEX waiting_expires_at ON auth.waiting (expires_at);

CREATE TABLE auth.factors (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES auth.users ON DELETE CASCADE,
  friendly_name text NOT NULL,
  status text NOT NULL CHECK (status IN ('unverified', 'verified')),
  -- Base64, sealed.
  secret text NOT NULL,
  -- The last time step whose code was accepted: no code works twice.
  last_used_step bigint,
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX factors_name ON auth.factors (user_id, friendly_name);
CREATE INDEX factors_unverified ON auth.factors (created_at) WHERE status = 'unverified';

-- A code is used by deleting its row.
CREATE TABLE auth.recovery_codes (
  project_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES auth.users ON DELETE CASCADE,
  code_hash bytea NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);

-- Where a user has signed in from.
CREATE TABLE auth.sources (
  project_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES auth.users ON DELETE CASCADE,
  source text NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, source)
);
CREATE INDEX sources_seen_at ON auth.sources (seen_at);
