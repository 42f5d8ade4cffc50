-- Of functions from images: the image as it was named, and what it stood for when the version first started.
ALTER TABLE functions.versions ADD COLUMN image text;
ALTER TABLE functions.versions ADD COLUMN image_digest text;
