-- Users without an address: they are anonymous until they link one.
ALTER TABLE auth.users ALTER COLUMN email DROP NOT NULL;
ALTER TABLE auth.users ADD COLUMN is_anonymous boolean NOT NULL DEFAULT false;
CREATE INDEX users_anonymous ON auth.users (last_sign_in_at) WHERE is_anonymous;
