-- How much disk databases take, and which of them are read-only because it is too much.

ALTER TABLE databases.volumes ADD data_size_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE databases.volumes ADD read_only boolean NOT NULL DEFAULT false;
ALTER TABLE databases.databases ADD storage_state text NOT NULL DEFAULT 'ok'
  CHECK (storage_state IN ('ok', 'warning', 'read_only'));
-- A DELETE or TRUNCATE, which run the tenant's triggers, made a read-only database larger: only DROP frees its space.
ALTER TABLE databases.databases ADD only_drop_frees boolean NOT NULL DEFAULT false;
