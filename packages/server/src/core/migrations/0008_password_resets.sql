-- Password resets that were asked for. There is one for an address without an account too, so that both cost the same. Rows stay for a
-- day, used or not, because limits count them.
CREATE TABLE core.password_resets (
  id uuid PRIMARY KEY,
  -- SHA-256 of the address in lower case.
  account bytea NOT NULL,
  -- An IPv4 address or an IPv6 /64.
  source text NOT NULL,
  email text NOT NULL,
  -- Null until the mail is sent, forever for an address without an account, and once the reset is of no use.
  token_hash bytea UNIQUE,
  -- False once a password was set: neither its mail nor one that is still on its way sets another.
  is_open boolean NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX password_resets_account ON core.password_resets (account, created_at);
CREATE INDEX password_resets_source ON core.password_resets (source, created_at);
CREATE INDEX password_resets_created_at ON core.password_resets (created_at);
