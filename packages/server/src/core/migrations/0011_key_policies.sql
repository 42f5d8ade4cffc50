-- What an organization demands of the keys that are made in it.
ALTER TABLE core.organizations
  ADD key_max_lifetime_days integer,
  ADD key_allowed_addresses text[] NOT NULL DEFAULT '{}',
  ADD key_read_only boolean NOT NULL DEFAULT false,
  ADD key_require_approval boolean NOT NULL DEFAULT false;
