-- Those that have URLs.
ALTER TABLE sandboxes.sandboxes ADD COLUMN ports integer[] NOT NULL DEFAULT '{}';
