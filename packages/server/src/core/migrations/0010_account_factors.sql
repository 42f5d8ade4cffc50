-- Second factors of people.
ALTER TABLE core.users ADD COLUMN mfa_enabled boolean NOT NULL DEFAULT false;

CREATE TABLE core.account_factors (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES core.users ON DELETE CASCADE,
  friendly_name text NOT NULL,
  status text NOT NULL CHECK (status IN ('unverified', 'verified')),
  -- Base64, sealed under the person's key.
  secret text NOT NULL,
  -- The last time step whose code was accepted: no code works twice.
  last_used_step bigint,
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX account_factors_name ON core.account_factors (user_id, friendly_name);
CREATE INDEX account_factors_unverified ON core.account_factors (created_at) WHERE status = 'unverified';

-- A code is used by deleting its row.
CREATE TABLE core.account_recovery_codes (
  user_id uuid NOT NULL REFERENCES core.users ON DELETE CASCADE,
  code_hash bytea NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);

-- Sign-ins whose password was right and that wait for a second factor.
CREATE TABLE core.account_waiting (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES core.users ON DELETE CASCADE,
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX account_waiting_user_id ON core.account_waiting (user_id);
CREATE INDEX account_waiting_expires_at ON core.account_waiting (expires_at);
