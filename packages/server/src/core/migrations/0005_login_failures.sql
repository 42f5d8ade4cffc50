-- Wrong passwords in a row, by account and by where they came from. An account is the SHA-256 of its address in lower case, so
-- that guesses at an address that has no account count the same.
CREATE TABLE core.login_failures (
  account bytea NOT NULL,
  -- An IPv4 address or an IPv6 /64; empty: all of them that the account was never signed in from.
  source text NOT NULL,
  failures integer NOT NULL,
  locked_until timestamptz,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (account, source)
);
CREATE INDEX login_failures_updated_at ON core.login_failures (updated_at);

-- Where a person has signed in from.
CREATE TABLE core.login_sources (
  user_id uuid NOT NULL REFERENCES core.users ON DELETE CASCADE,
  source text NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, source)
);
CREATE INDEX login_sources_seen_at ON core.login_sources (seen_at);

-- `failed_logins` and `locked_until` of core.users are read by the version before alone.
