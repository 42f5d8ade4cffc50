-- What a sandbox of an image is made from; null of others, and until it is known.
ALTER TABLE sandboxes.sandboxes ADD COLUMN image_digest text;
-- Null: where the image says, once that is known.
ALTER TABLE sandboxes.sandboxes ALTER COLUMN cwd DROP NOT NULL;
