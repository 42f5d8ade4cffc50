-- What a computer of an image is made from, for all of its life; null of others, and until it has started.
ALTER TABLE computers.computers ADD COLUMN image_digest text;
