-- Versions and tags of objects. The newest version of a key that is no delete marker stays in storage.objects, so that readers and lists
-- of a bucket without versions cost what they did; what it replaced, and delete markers, are in storage.versions.

ALTER TABLE storage.buckets ADD COLUMN versioning text NOT NULL DEFAULT 'off'
  CHECK (versioning IN ('off', 'enabled', 'suspended'));
ALTER TABLE storage.buckets ADD COLUMN tags jsonb NOT NULL DEFAULT '{}';

-- Null is the version that S3 calls `null`: it was put while versions were off or suspended.
ALTER TABLE storage.objects ADD COLUMN version_id text COLLATE "C";
-- Orders the versions of a key, the newest first: what is put later has a smaller one. 0 before there were versions.
ALTER TABLE storage.objects ADD COLUMN age bigint NOT NULL DEFAULT 0;
ALTER TABLE storage.objects ADD COLUMN tags jsonb NOT NULL DEFAULT '{}';
ALTER TABLE storage.uploads ADD COLUMN tags jsonb NOT NULL DEFAULT '{}';

CREATE SEQUENCE storage.version_ages INCREMENT BY -1;

-- Columns in the order of storage.objects, and one more.
CREATE TABLE storage.versions (
  LIKE storage.objects INCLUDING DEFAULTS,
  is_marker boolean NOT NULL,
  PRIMARY KEY (bucket_id, key, age),
  FOREIGN KEY (bucket_id) REFERENCES storage.buckets
);
CREATE UNIQUE INDEX versions_id ON storage.versions (bucket_id, key, version_id) NULLS NOT DISTINCT;

-- Whoever changes a key of a bucket with versions does so alone. Taken after the lock of the bucket.
CREATE FUNCTION storage.lock_key(p_bucket uuid, p_key text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtextextended(p_bucket::text || '/' || p_key, 5765))
$$;

CREATE FUNCTION storage.new_version_id(p_versioning text) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN p_versioning = 'enabled' THEN replace(gen_random_uuid()::text, '-', '') END
$$;

-- What a client sees: nothing where there never were versions.
CREATE FUNCTION storage.shown_version(p_versioning text, p_version text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_versioning <> 'off' THEN coalesce(p_version, 'null') END
$$;

-- Whether the null version that is there is replaced by a new one, and not kept beside it.
CREATE FUNCTION storage.is_replaced(p_versioning text, p_version text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT p_versioning = 'off' OR (p_versioning = 'suspended' AND p_version IS NULL)
$$;

-- The newest of the versions of a key without an object becomes the object, unless it is a marker. How many did: 0 or 1.
CREATE FUNCTION storage.promote(p_bucket uuid, p_key text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v storage.versions;
BEGIN
  SELECT * INTO v FROM storage.versions WHERE bucket_id = p_bucket AND key = p_key ORDER BY age LIMIT 1;
  IF NOT FOUND OR v.is_marker THEN RETURN 0; END IF;
  INSERT INTO storage.objects VALUES (
    v.bucket_id, v.key, v.project_id, v.size, v.etag, v.last_modified, v.http, v.metadata, v.checksums, v.checksum_type,
    v.part_count, v.addresses, v.sizes, v.parts, v.version_id, v.age, v.tags);
  DELETE FROM storage.versions WHERE bucket_id = p_bucket AND key = p_key AND age = v.age;
  RETURN 1;
END $$;

-- Puts an object as before; in a bucket with versions, what it replaces is kept. `version_id` is what a client sees.
CREATE FUNCTION storage.put_object(
  p_project uuid, p_bucket text, p_key text, p_size bigint, p_etag text, p_now timestamptz,
  p_http jsonb, p_metadata jsonb, p_checksums jsonb, p_checksum_type text, p_part_count integer,
  p_addresses text[], p_sizes bigint[], p_lost text[], p_upload_bytes bigint,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz, p_published boolean,
  p_parts jsonb, p_tags jsonb
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
        addresses = p_addresses, sizes = p_sizes, parts = p_parts, version_id = v_version, age = v_age, tags = p_tags
      WHERE bucket_id = v_bucket AND key = p_key;
      EXIT;
    END IF;
    INSERT INTO storage.objects VALUES (
      v_bucket, p_key, p_project, p_size, p_etag, p_now, p_http, p_metadata,
      p_checksums, p_checksum_type, p_part_count, p_addresses, p_sizes, p_parts, v_version, v_age, p_tags
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
  p_parts jsonb
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT outcome FROM storage.put_object(
    p_project, p_bucket, p_key, p_size, p_etag, p_now, p_http, p_metadata, p_checksums, p_checksum_type, p_part_count,
    p_addresses, p_sizes, p_lost, p_upload_bytes, p_if_match, p_if_none_match, p_if_unmodified_since, p_published, p_parts,
    '{}'::jsonb));
END $$;

-- Deletes objects, or versions of them where p_versions names one (null: none is named), all or none. A key of a bucket with versions
-- that is deleted without one gets a delete marker, whether it was there or not. A row for each that was named and for which something
-- happened: `removed`, the version that was deleted or the marker that was made, and whether that is a marker. Or one row that says why
-- nothing happened: `no_bucket` or `precondition`.
CREATE FUNCTION storage.delete_objects(
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
        v_marker, nextval('storage.version_ages'), '{}', true);
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

-- Processes of the version before call this one.
CREATE OR REPLACE FUNCTION storage.remove_objects(
  p_project uuid, p_bucket text, p_keys text[], p_now timestamptz,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz
) RETURNS TABLE (outcome text, removed text[]) LANGUAGE sql AS $$
  SELECT coalesce(min(deleted.outcome), 'removed'),
    coalesce(array_agg(deleted.key ORDER BY deleted.key) FILTER (WHERE deleted.was_there), '{}')
  FROM storage.delete_objects(
    p_project, p_bucket, p_keys, NULL, p_now, p_if_match, p_if_none_match, p_if_unmodified_since) AS deleted
$$;

-- As before, and a bucket with versions or delete markers is not empty either.
CREATE OR REPLACE FUNCTION storage.delete_bucket(p_project uuid, p_bucket text, p_now timestamptz) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  v_bucket uuid;
BEGIN
  PERFORM pg_advisory_xact_lock(storage.bucket_lock(p_project, p_bucket));
  SELECT id INTO v_bucket FROM storage.buckets WHERE project_id = p_project AND name = p_bucket;
  IF NOT FOUND THEN RETURN 'no_bucket'; END IF;
  IF EXISTS (SELECT 1 FROM storage.objects WHERE bucket_id = v_bucket)
    OR EXISTS (SELECT 1 FROM storage.versions WHERE bucket_id = v_bucket)
  THEN RETURN 'not_empty'; END IF;
  PERFORM storage.drop_upload(p_project, id, p_now) FROM (
    SELECT id FROM storage.uploads WHERE bucket_id = v_bucket ORDER BY id
  ) AS ended;
  DELETE FROM storage.buckets WHERE id = v_bucket;
  RETURN 'deleted';
END $$;

-- Removes up to p_limit objects and as many versions of a bucket whose project is gone. How many went.
CREATE FUNCTION storage.purge(p_project uuid, p_bucket text, p_limit integer, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_bucket uuid;
  v_organization uuid;
  v_row record;
  v_objects bigint := 0;
  v_versions bigint := 0;
  v_bytes bigint := 0;
  v_lost text[] := '{}';
BEGIN
  SELECT id, organization_id INTO v_bucket, v_organization
  FROM storage.buckets WHERE project_id = p_project AND name = p_bucket;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOR v_row IN
    DELETE FROM storage.objects WHERE bucket_id = v_bucket AND key IN (
      SELECT key FROM storage.objects WHERE bucket_id = v_bucket ORDER BY key LIMIT p_limit)
    RETURNING size, addresses
  LOOP
    v_objects := v_objects + 1;
    v_bytes := v_bytes + v_row.size;
    v_lost := v_lost || v_row.addresses;
  END LOOP;
  FOR v_row IN
    DELETE FROM storage.versions WHERE bucket_id = v_bucket AND (key, age) IN (
      SELECT key, age FROM storage.versions WHERE bucket_id = v_bucket ORDER BY key, age LIMIT p_limit)
    RETURNING size, addresses
  LOOP
    v_versions := v_versions + 1;
    v_bytes := v_bytes + v_row.size;
    v_lost := v_lost || v_row.addresses;
  END LOOP;
  PERFORM storage.change_refs(p_project, '{}', '{}', v_lost, p_now, false);
  IF v_objects + v_versions > 0 THEN
    PERFORM storage.count(v_bucket, v_organization, p_project, -v_objects, -v_bytes, 0);
  END IF;
  RETURN v_objects + v_versions;
END $$;

-- As list_entries, with the version of each object.
CREATE FUNCTION storage.list_objects(
  p_bucket uuid, p_prefix text, p_from text, p_below text, p_delimiter text, p_next text, p_limit integer
) RETURNS TABLE (
  common_prefix text, key text, size bigint, etag text, last_modified timestamptz, http jsonb, metadata jsonb,
  checksums jsonb, checksum_type text, part_count integer, version_id text, tags jsonb
) LANGUAGE plpgsql STABLE
-- The index has the order already; a plan for parameters it knows nothing of must not decide otherwise.
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
DECLARE
  v_row record;
  v_from text COLLATE "C" := p_from;
  v_at integer;
  v_left integer := p_limit;
  v_jumped boolean;
BEGIN
  IF p_delimiter IS NULL THEN
    RETURN QUERY SELECT NULL::text, o.key, o.size, o.etag, o.last_modified, o.http, o.metadata, o.checksums,
      o.checksum_type, o.part_count, o.version_id, o.tags
    FROM storage.objects AS o
    WHERE o.bucket_id = p_bucket AND o.key >= v_from AND o.key < p_below COLLATE "C"
    ORDER BY o.key LIMIT p_limit;
    RETURN;
  END IF;
  LOOP
    v_jumped := false;
    FOR v_row IN
      SELECT * FROM storage.objects AS o
      WHERE o.bucket_id = p_bucket AND o.key >= v_from AND o.key < p_below COLLATE "C"
      ORDER BY o.key LIMIT v_left
    LOOP
      v_at := position(p_delimiter IN substr(v_row.key, length(p_prefix) + 1));
      v_left := v_left - 1;
      v_jumped := v_at > 0;
      IF v_jumped THEN
        v_from := left(v_row.key, length(p_prefix) + v_at - 1);
        RETURN QUERY SELECT v_from || p_delimiter, NULL::text, NULL::bigint, NULL::text, NULL::timestamptz, NULL::jsonb,
          NULL::jsonb, NULL::jsonb, NULL::text, NULL::integer, NULL::text, NULL::jsonb;
        v_from := v_from || p_next;
        EXIT;
      END IF;
      RETURN QUERY SELECT NULL::text, v_row.key, v_row.size, v_row.etag, v_row.last_modified, v_row.http, v_row.metadata,
        v_row.checksums, v_row.checksum_type, v_row.part_count, v_row.version_id, v_row.tags;
    END LOOP;
    EXIT WHEN v_left <= 0 OR NOT v_jumped;
  END LOOP;
END $$;

-- The same of versions and delete markers, by key and then the newest first, from p_from on: all of its versions when p_age is null, else
-- those that are older than that age.
CREATE FUNCTION storage.list_versions(
  p_bucket uuid, p_prefix text, p_from text, p_age bigint, p_below text, p_delimiter text, p_next text, p_limit integer
) RETURNS TABLE (
  common_prefix text, key text, size bigint, etag text, last_modified timestamptz, http jsonb, metadata jsonb,
  checksums jsonb, checksum_type text, part_count integer, version_id text, tags jsonb, age bigint, is_marker boolean,
  is_latest boolean
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
DECLARE
  v_row record;
  v_from text COLLATE "C" := p_from;
  v_age bigint := p_age;
  v_at integer;
  v_left integer := p_limit;
  v_jumped boolean;
  v_latest boolean;
BEGIN
  LOOP
    v_jumped := false;
    FOR v_row IN
      SELECT * FROM (
        (SELECT o.*, false AS is_marker FROM storage.objects AS o
          WHERE o.bucket_id = p_bucket AND o.key >= v_from AND o.key < p_below COLLATE "C"
            AND (o.key > v_from OR v_age IS NULL OR o.age > v_age)
          ORDER BY o.key LIMIT v_left)
        UNION ALL
        (SELECT v.* FROM storage.versions AS v
          WHERE v.bucket_id = p_bucket AND v.key < p_below COLLATE "C"
            AND (v.key, v.age) > (v_from, coalesce(v_age, -9223372036854775808))
          ORDER BY v.key, v.age LIMIT v_left)
      ) AS found ORDER BY found.key, found.age LIMIT v_left
    LOOP
      v_at := CASE WHEN p_delimiter IS NULL THEN 0
        ELSE position(p_delimiter IN substr(v_row.key, length(p_prefix) + 1)) END;
      v_left := v_left - 1;
      v_jumped := v_at > 0;
      IF v_jumped THEN
        v_from := left(v_row.key, length(p_prefix) + v_at - 1);
        RETURN QUERY SELECT v_from || p_delimiter, NULL::text, NULL::bigint, NULL::text, NULL::timestamptz, NULL::jsonb,
          NULL::jsonb, NULL::jsonb, NULL::text, NULL::integer, NULL::text, NULL::jsonb, NULL::bigint, NULL::boolean, NULL::boolean;
        v_from := v_from || p_next;
        v_age := NULL;
        EXIT;
      END IF;
      -- What is newest and no marker is an object.
      v_latest := NOT EXISTS (
        SELECT FROM storage.objects AS o WHERE o.bucket_id = p_bucket AND o.key = v_row.key AND o.age <> v_row.age
      ) AND NOT EXISTS (
        SELECT FROM storage.versions AS v WHERE v.bucket_id = p_bucket AND v.key = v_row.key AND v.age < v_row.age
      );
      RETURN QUERY SELECT NULL::text, v_row.key, v_row.size, v_row.etag, v_row.last_modified, v_row.http, v_row.metadata,
        v_row.checksums, v_row.checksum_type, v_row.part_count, v_row.version_id, v_row.tags, v_row.age, v_row.is_marker, v_latest;
    END LOOP;
    EXIT WHEN v_left <= 0 OR NOT v_jumped;
  END LOOP;
END $$;
