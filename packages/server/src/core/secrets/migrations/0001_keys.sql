-- Data keys of tenants: organizations, and people for what is theirs alone. Rows are never deleted, so that a version
-- is never used twice and an erased tenant never gets a key again.

CREATE TABLE encryption.keys (
  tenant_id uuid NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  -- retired: what users encrypted with it opens no more; destroyed: the key is gone.
  state text NOT NULL CHECK (state IN ('active', 'retired', 'destroyed')),
  -- The key, readable by the secrets engine alone.
  wrapped_key text,
  -- How often it may have been used to encrypt, at most.
  uses_reserved bigint NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, version),
  CHECK ((wrapped_key IS NULL) = (state = 'destroyed'))
);
