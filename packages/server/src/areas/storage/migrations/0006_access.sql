-- Who may do what in a bucket beside the keys of its project: policy, access control list, and what closes both; and pages of which
-- origins may call it. All of them are read together, by every request to a bucket that is not its owner's.
ALTER TABLE storage.buckets ADD COLUMN settings jsonb NOT NULL DEFAULT '{}';
-- Whether the owner ever opened something of it to others: then it claims its name at S3's path, which names no project.
ALTER TABLE storage.buckets ADD COLUMN is_open boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION storage.claim_public_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (NEW.is_public OR NEW.is_open) THEN
    NEW.holds_public_name := false;
  ELSIF NOT NEW.holds_public_name AND (TG_OP = 'INSERT' OR NOT (OLD.is_public OR OLD.is_open)) THEN
    -- Those who claim one name wait for each other.
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.name, 5764));
    NEW.holds_public_name :=
      NOT EXISTS (SELECT 1 FROM storage.buckets WHERE name = NEW.name AND holds_public_name);
  END IF;
  RETURN NEW;
END $$;

DROP TRIGGER claim_public_name ON storage.buckets;
CREATE TRIGGER claim_public_name BEFORE INSERT OR UPDATE OF is_public, is_open ON storage.buckets
FOR EACH ROW EXECUTE FUNCTION storage.claim_public_name();

-- Preflights of browsers name no project.
CREATE INDEX buckets_cors ON storage.buckets (name) WHERE settings ? 'cors';

-- The access control list of an object, by its name; null is `private`. Columns of versions stay in the order of those of objects, and
-- is_marker behind them.
ALTER TABLE storage.objects ADD COLUMN acl text;
ALTER TABLE storage.uploads ADD COLUMN acl text;
ALTER TABLE storage.versions RENAME COLUMN is_marker TO was_marker;
ALTER TABLE storage.versions ADD COLUMN acl text;
ALTER TABLE storage.versions ADD COLUMN is_marker boolean;
UPDATE storage.versions SET is_marker = was_marker;
ALTER TABLE storage.versions DROP COLUMN was_marker;
ALTER TABLE storage.versions ALTER COLUMN is_marker SET NOT NULL;

-- As before, with the list.
CREATE OR REPLACE FUNCTION storage.promote(p_bucket uuid, p_key text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v storage.versions;
BEGIN
  SELECT * INTO v FROM storage.versions WHERE bucket_id = p_bucket AND key = p_key ORDER BY age LIMIT 1;
  IF NOT FOUND OR v.is_marker THEN RETURN 0; END IF;
  INSERT INTO storage.objects VALUES (
    v.bucket_id, v.key, v.project_id, v.size, v.etag, v.last_modified, v.http, v.metadata, v.checksums, v.checksum_type,
    v.part_count, v.addresses, v.sizes, v.parts, v.version_id, v.age, v.tags, v.acl);
  DELETE FROM storage.versions WHERE bucket_id = p_bucket AND key = p_key AND age = v.age;
  RETURN 1;
END $$;

CREATE FUNCTION storage.put_object(
  p_project uuid, p_bucket text, p_key text, p_size bigint, p_etag text, p_now timestamptz,
  p_http jsonb, p_metadata jsonb, p_checksums jsonb, p_checksum_type text, p_part_count integer,
  p_addresses text[], p_sizes bigint[], p_lost text[], p_upload_bytes bigint,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz, p_published boolean,
  p_parts jsonb, p_tags jsonb, p_acl text
) RETURNS TABLE (outcome text, version_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_bucket uuid;
  v_organization uuid;
  v_versioning text;
  v_version text;
  v_age bigint := 0;
  v_old storage.objects;
  v_known boolean;
  v_lost text[] := p_lost;
  v_lost_bytes bigint := 0;
  v_null storage.versions;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(storage.bucket_lock(p_project, p_bucket));
  SELECT id, organization_id, versioning INTO v_bucket, v_organization, v_versioning
  FROM storage.buckets WHERE project_id = p_project AND name = p_bucket;
  IF NOT FOUND THEN RETURN QUERY SELECT 'no_bucket', NULL::text; RETURN; END IF;
  IF v_versioning <> 'off' THEN
    PERFORM storage.lock_key(v_bucket, p_key);
    v_version := storage.new_version_id(v_versioning);
    v_age := nextval('storage.version_ages');
  END IF;

  LOOP
    SELECT * INTO v_old FROM storage.objects WHERE bucket_id = v_bucket AND key = p_key FOR UPDATE;
    v_known := FOUND;
    IF NOT storage.holds(v_known, v_old.etag, v_old.last_modified, p_if_match, p_if_none_match, p_if_unmodified_since)
    THEN RETURN QUERY SELECT 'precondition', NULL::text; RETURN; END IF;
    IF v_known THEN
      IF storage.is_replaced(v_versioning, v_old.version_id) THEN
        v_lost := v_lost || v_old.addresses;
        v_lost_bytes := v_old.size;
      ELSE
        INSERT INTO storage.versions SELECT (v_old).*, false;
      END IF;
      UPDATE storage.objects SET
        size = p_size, etag = p_etag, last_modified = p_now, http = p_http, metadata = p_metadata,
        checksums = p_checksums, checksum_type = p_checksum_type, part_count = p_part_count,
        addresses = p_addresses, sizes = p_sizes, parts = p_parts, version_id = v_version, age = v_age, tags = p_tags, acl = p_acl
      WHERE bucket_id = v_bucket AND key = p_key;
      EXIT;
    END IF;
    INSERT INTO storage.objects VALUES (
      v_bucket, p_key, p_project, p_size, p_etag, p_now, p_http, p_metadata,
      p_checksums, p_checksum_type, p_part_count, p_addresses, p_sizes, p_parts, v_version, v_age, p_tags, p_acl
    ) ON CONFLICT DO NOTHING;
    -- Somebody else may have put the first one meanwhile: then what they put decides.
    EXIT WHEN FOUND;
  END LOOP;

  IF v_versioning = 'suspended' THEN
    DELETE FROM storage.versions AS v WHERE v.bucket_id = v_bucket AND v.key = p_key AND v.version_id IS NULL
    RETURNING * INTO v_null;
    IF FOUND THEN
      v_lost := v_lost || v_null.addresses;
      v_lost_bytes := v_lost_bytes + v_null.size;
    END IF;
  END IF;
  PERFORM storage.change_refs(p_project, p_addresses, p_sizes, v_lost, p_now, p_published);
  PERFORM storage.count(
    v_bucket, v_organization, p_project, CASE WHEN v_known THEN 0 ELSE 1 END, p_size - v_lost_bytes, -p_upload_bytes);
  RETURN QUERY SELECT 'stored', storage.shown_version(v_versioning, v_version);
END $$;

-- Processes of the version before call this one.
CREATE OR REPLACE FUNCTION storage.put_object(
  p_project uuid, p_bucket text, p_key text, p_size bigint, p_etag text, p_now timestamptz,
  p_http jsonb, p_metadata jsonb, p_checksums jsonb, p_checksum_type text, p_part_count integer,
  p_addresses text[], p_sizes bigint[], p_lost text[], p_upload_bytes bigint,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz, p_published boolean,
  p_parts jsonb, p_tags jsonb
) RETURNS TABLE (outcome text, version_id text) LANGUAGE sql AS $$
  SELECT * FROM storage.put_object(
    p_project, p_bucket, p_key, p_size, p_etag, p_now, p_http, p_metadata, p_checksums, p_checksum_type, p_part_count,
    p_addresses, p_sizes, p_lost, p_upload_bytes, p_if_match, p_if_none_match, p_if_unmodified_since, p_published, p_parts,
    p_tags, NULL)
$$;

-- As before; a delete marker has no list.
CREATE OR REPLACE FUNCTION storage.delete_objects(
  p_project uuid, p_bucket text, p_keys text[], p_versions text[], p_now timestamptz,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz
) RETURNS TABLE (outcome text, key text, version_id text, is_marker boolean, was_there boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_bucket uuid;
  v_organization uuid;
  v_versioning text;
  v_named record;
  v_object storage.objects;
  v_version storage.versions;
  v_known boolean;
  v_lost text[] := '{}';
  v_objects bigint := 0;
  v_bytes bigint := 0;
  v_marker text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(storage.bucket_lock(p_project, p_bucket));
  SELECT id, organization_id, versioning INTO v_bucket, v_organization, v_versioning
  FROM storage.buckets WHERE project_id = p_project AND name = p_bucket;
  IF NOT FOUND THEN RETURN QUERY SELECT 'no_bucket', NULL, NULL, false, false; RETURN; END IF;

  -- Conditions first, so that either all of them are deleted or none. The locks stay.
  FOR v_named IN SELECT DISTINCT named.key FROM unnest(p_keys) AS named (key) ORDER BY 1 LOOP
    IF v_versioning <> 'off' THEN PERFORM storage.lock_key(v_bucket, v_named.key); END IF;
    SELECT * INTO v_object FROM storage.objects AS o WHERE o.bucket_id = v_bucket AND o.key = v_named.key FOR UPDATE;
    IF FOUND AND NOT storage.holds(true, v_object.etag, v_object.last_modified, p_if_match, p_if_none_match, p_if_unmodified_since)
    THEN RETURN QUERY SELECT 'precondition', NULL, NULL, false, false; RETURN; END IF;
  END LOOP;

  FOR v_named IN SELECT named.key, named.version FROM unnest(p_keys, p_versions) AS named (key, version) LOOP
    SELECT * INTO v_object FROM storage.objects AS o WHERE o.bucket_id = v_bucket AND o.key = v_named.key;
    v_known := FOUND;
    outcome := 'removed';
    key := v_named.key;
    was_there := v_known;

    IF v_named.version IS NULL AND v_versioning = 'off' THEN
      -- The object itself goes, and nothing stays of it.
      CONTINUE WHEN NOT v_known;
      version_id := NULL;
      is_marker := false;
      v_objects := v_objects - 1;
      v_lost := v_lost || v_object.addresses;
      v_bytes := v_bytes - v_object.size;
      DELETE FROM storage.objects AS o WHERE o.bucket_id = v_bucket AND o.key = v_named.key;
      -- A bucket has versions for ever once it had them, so there are none here.

    ELSIF v_named.version IS NULL THEN
      CONTINUE WHEN NOT v_known AND p_if_match IS NOT NULL;
      IF v_known THEN
        v_objects := v_objects - 1;
        IF storage.is_replaced(v_versioning, v_object.version_id) THEN
          v_lost := v_lost || v_object.addresses;
          v_bytes := v_bytes - v_object.size;
        ELSE
          INSERT INTO storage.versions SELECT (v_object).*, false;
        END IF;
        DELETE FROM storage.objects AS o WHERE o.bucket_id = v_bucket AND o.key = v_named.key;
      END IF;
      IF v_versioning = 'suspended' THEN
        DELETE FROM storage.versions AS v WHERE v.bucket_id = v_bucket AND v.key = v_named.key AND v.version_id IS NULL
        RETURNING * INTO v_version;
        IF FOUND THEN
          v_lost := v_lost || v_version.addresses;
          v_bytes := v_bytes - v_version.size;
        END IF;
      END IF;
      v_marker := storage.new_version_id(v_versioning);
      INSERT INTO storage.versions VALUES (
        v_bucket, v_named.key, p_project, 0, '', p_now, '{}', '{}', '{}', 'full_object', NULL, '{}', '{}', NULL,
        v_marker, nextval('storage.version_ages'), '{}', NULL, true);
      version_id := storage.shown_version(v_versioning, v_marker);
      is_marker := true;

    ELSIF v_known AND storage.shown_version('enabled', v_object.version_id) = v_named.version THEN
      v_objects := v_objects - 1;
      v_lost := v_lost || v_object.addresses;
      v_bytes := v_bytes - v_object.size;
      DELETE FROM storage.objects AS o WHERE o.bucket_id = v_bucket AND o.key = v_named.key;
      v_objects := v_objects + storage.promote(v_bucket, v_named.key);
      version_id := v_named.version;
      is_marker := false;

    ELSE
      IF v_named.version = 'null' THEN
        DELETE FROM storage.versions AS v WHERE v.bucket_id = v_bucket AND v.key = v_named.key AND v.version_id IS NULL
        RETURNING * INTO v_version;
      ELSE
        DELETE FROM storage.versions AS v
        WHERE v.bucket_id = v_bucket AND v.key = v_named.key AND v.version_id = v_named.version
        RETURNING * INTO v_version;
      END IF;
      CONTINUE WHEN NOT FOUND;
      was_there := true;
      v_lost := v_lost || v_version.addresses;
      v_bytes := v_bytes - v_version.size;
      IF NOT v_known THEN v_objects := v_objects + storage.promote(v_bucket, v_named.key); END IF;
      version_id := v_named.version;
      is_marker := v_version.is_marker;
    END IF;
    RETURN NEXT;
  END LOOP;

  PERFORM storage.change_refs(p_project, '{}', '{}', v_lost, p_now, false);
  IF v_objects <> 0 OR v_bytes <> 0 THEN
    PERFORM storage.count(v_bucket, v_organization, p_project, v_objects, v_bytes, 0);
  END IF;
END $$;
