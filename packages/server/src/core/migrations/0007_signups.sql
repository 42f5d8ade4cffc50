-- Sign-ups that wait for the mail that confirms their address. There is one for an address that has an account too, so that both cost
-- the same. Rows stay until they expire, confirmed or not, because limits count them.
CREATE TABLE core.signups (
  id uuid PRIMARY KEY,
  -- SHA-256 of the address in lower case.
  account bytea NOT NULL,
  -- An IPv4 address or an IPv6 /64.
  source text NOT NULL,
  email text NOT NULL,
  name text NOT NULL,
  organization_name text NOT NULL,
  -- Null once it is of no use: the address is confirmed, or had an account already.
  password_hash text,
  -- Null until the mail is sent, and forever for an address that has an account.
  token_hash bytea UNIQUE,
  -- Of the invitation that let the person in; null: sign-up was open.
  invitation_hash bytea,
  -- Passwords that were sent with the token.
  attempts integer NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX signups_account ON core.signups (account, created_at);
CREATE INDEX signups_source ON core.signups (source, created_at);
CREATE INDEX signups_created_at ON core.signups (created_at);
