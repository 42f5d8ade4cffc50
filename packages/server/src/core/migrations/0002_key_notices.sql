-- Keys whose organization was told that they expire.
CREATE TABLE core.key_notices (
  key_id uuid PRIMARY KEY REFERENCES core.api_keys ON DELETE CASCADE,
  told_at timestamptz NOT NULL
);
CREATE INDEX api_keys_expires_at ON core.api_keys (expires_at)
  WHERE expires_at IS NOT NULL AND revoked_at IS NULL AND grace_expires_at IS NULL;
