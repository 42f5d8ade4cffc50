-- S3's path names no project, so one public bucket of a name in the installation answers at `/s3/{name}`: the one that
-- was made public first. The others have an address with their project in it.
ALTER TABLE storage.buckets ADD COLUMN holds_public_name boolean NOT NULL DEFAULT false;

UPDATE storage.buckets SET holds_public_name = true
WHERE id IN (SELECT DISTINCT ON (name) id FROM storage.buckets WHERE is_public ORDER BY name, created_at, id);

CREATE UNIQUE INDEX buckets_public_name ON storage.buckets (name) WHERE holds_public_name;

-- A trigger, so that processes of the version before claim and give up names as well.
CREATE FUNCTION storage.claim_public_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT NEW.is_public THEN
    NEW.holds_public_name := false;
  ELSIF NOT NEW.holds_public_name AND (TG_OP = 'INSERT' OR NOT OLD.is_public) THEN
    -- Those who claim one name wait for each other.
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.name, 5764));
    NEW.holds_public_name :=
      NOT EXISTS (SELECT 1 FROM storage.buckets WHERE name = NEW.name AND holds_public_name);
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER claim_public_name BEFORE INSERT OR UPDATE OF is_public ON storage.buckets
FOR EACH ROW EXECUTE FUNCTION storage.claim_public_name();
