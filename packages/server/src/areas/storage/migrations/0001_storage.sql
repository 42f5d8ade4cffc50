-- Buckets and objects. The bytes are in the blob store; a row here is what makes them an object.

CREATE TABLE storage.buckets (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  is_public boolean NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX buckets_name ON storage.buckets (project_id, name);

-- What a bucket holds. Each connection adds to a row of its own, so that writers do not wait for each other's counts.
CREATE TABLE storage.counts (
  bucket_id uuid NOT NULL REFERENCES storage.buckets ON DELETE CASCADE,
  shard smallint NOT NULL,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  object_count bigint NOT NULL,
  size_bytes bigint NOT NULL,
  -- Of uploads that are not complete.
  upload_bytes bigint NOT NULL,
  PRIMARY KEY (bucket_id, shard)
) WITH (fillfactor = 50);
CREATE INDEX counts_organization ON storage.counts (organization_id);
CREATE INDEX counts_project ON storage.counts (project_id);

CREATE TABLE storage.objects (
  bucket_id uuid NOT NULL REFERENCES storage.buckets,
  key text COLLATE "C" NOT NULL,
  project_id uuid NOT NULL,
  size bigint NOT NULL,
  etag text NOT NULL,
  last_modified timestamptz NOT NULL,
  http jsonb NOT NULL,
  metadata jsonb NOT NULL,
  checksums jsonb NOT NULL,
  checksum_type text NOT NULL CHECK (checksum_type IN ('full_object', 'composite')),
  part_count integer,
  -- The blobs that it is made of, in order, and their sizes. None when it is empty.
  addresses text[] NOT NULL,
  sizes bigint[] NOT NULL,
  PRIMARY KEY (bucket_id, key)
) WITH (fillfactor = 85);

-- How many objects and parts are made of a blob. One that nobody refers to any more stays for a while, for its readers.
CREATE TABLE storage.blobs (
  project_id uuid NOT NULL,
  address text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  refs bigint NOT NULL,
  released_at timestamptz,
  verified_at timestamptz NOT NULL,
  condition text NOT NULL CHECK (condition IN ('intact', 'damaged', 'missing')),
  PRIMARY KEY (project_id, address)
);
CREATE INDEX blobs_released_at ON storage.blobs (released_at) WHERE released_at IS NOT NULL;
CREATE INDEX blobs_verified_at ON storage.blobs (verified_at);
CREATE INDEX blobs_condition ON storage.blobs (project_id) WHERE condition <> 'intact';

CREATE TABLE storage.uploads (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  bucket_id uuid NOT NULL REFERENCES storage.buckets,
  key text COLLATE "C" NOT NULL,
  -- multipart: numbered parts in any order; resumable: from the first byte to the last.
  kind text NOT NULL CHECK (kind IN ('multipart', 'resumable')),
  http jsonb NOT NULL,
  metadata jsonb NOT NULL,
  checksum_algorithm text,
  checksum_type text NOT NULL,
  -- Of a resumable upload: the size it will have, once it is known, and what has arrived.
  length_bytes bigint,
  received_bytes bigint NOT NULL,
  -- As the client sent it.
  metadata_text text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The object that it became, kept for clients that did not hear the answer.
  completed jsonb
);
CREATE INDEX uploads_bucket ON storage.uploads (bucket_id, key, id);
CREATE INDEX uploads_expires_at ON storage.uploads (expires_at);

CREATE TABLE storage.parts (
  upload_id uuid NOT NULL REFERENCES storage.uploads ON DELETE CASCADE,
  number integer NOT NULL,
  -- Null: it is empty.
  address text COLLATE "C",
  size bigint NOT NULL,
  etag text NOT NULL,
  checksums jsonb NOT NULL,
  last_modified timestamptz NOT NULL,
  PRIMARY KEY (upload_id, number)
);

-- Sign URLs. The newest of a project signs; all of them verify.
CREATE TABLE storage.signing_keys (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  -- Sealed.
  secret text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX signing_keys_project ON storage.signing_keys (project_id, created_at DESC);

-- Background work that one process at a time does for all.
CREATE TABLE storage.chores (
  name text PRIMARY KEY,
  done_at timestamptz NOT NULL
);

-- Locks are taken in one order everywhere, so that nobody waits in a circle: bucket, upload, objects by key, blobs by
-- address, counts.

-- Held by all who put something into a bucket; who deletes the bucket takes it alone. In memory, because a row that all
-- writers lock would be rewritten for each of them.
CREATE FUNCTION storage.bucket_lock(p_project uuid, p_bucket text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT hashtextextended(p_project::text || '/' || p_bucket, 5763) $$;

-- p_published: the gained blobs were written just now, which mends those that were found damaged.
CREATE FUNCTION storage.change_refs(
  p_project uuid, p_gained text[], p_sizes bigint[], p_lost text[], p_now timestamptz, p_published boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_least bigint;
BEGIN
  WITH changed AS (
    INSERT INTO storage.blobs AS blob (project_id, address, bytes, refs, verified_at, condition)
    SELECT p_project, address, max(bytes), sum(delta), p_now, 'intact'
    FROM (
      SELECT address, bytes, 1 AS delta FROM unnest(p_gained, p_sizes) AS gained (address, bytes)
      UNION ALL
      SELECT address, 0, -1 FROM unnest(p_lost) AS lost (address)
    ) AS deltas
    WHERE address IS NOT NULL
    GROUP BY address
    HAVING sum(delta) <> 0 OR p_published
    ORDER BY address
    ON CONFLICT (project_id, address) DO UPDATE SET
      refs = blob.refs + excluded.refs,
      released_at = CASE WHEN blob.refs + excluded.refs = 0 THEN p_now END,
      -- What is only lost comes with no bytes.
      condition = CASE WHEN p_published AND excluded.bytes > 0 THEN 'intact' ELSE blob.condition END
    RETURNING refs
  )
  SELECT min(refs) INTO v_least FROM changed;
  IF v_least < 0 THEN RAISE EXCEPTION 'a blob is released more often than it is used'; END IF;
END $$;

CREATE FUNCTION storage.count(
  p_bucket uuid, p_organization uuid, p_project uuid, p_objects bigint, p_bytes bigint, p_upload_bytes bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage.counts AS counted (bucket_id, shard, organization_id, project_id, object_count, size_bytes, upload_bytes)
  VALUES (p_bucket, pg_backend_pid() % 16, p_organization, p_project, p_objects, p_bytes, p_upload_bytes)
  ON CONFLICT (bucket_id, shard) DO UPDATE SET
    object_count = counted.object_count + excluded.object_count,
    size_bytes = counted.size_bytes + excluded.size_bytes,
    upload_bytes = counted.upload_bytes + excluded.upload_bytes;
END $$;

-- Puts an object whose blobs are published, when the conditions hold for what is there. `stored`, `no_bucket` or
-- `precondition`. What p_lost names is given up in exchange: the parts of the upload that became the object.
CREATE FUNCTION storage.put_object(
  p_project uuid, p_bucket text, p_key text, p_size bigint, p_etag text, p_now timestamptz,
  p_http jsonb, p_metadata jsonb, p_checksums jsonb, p_checksum_type text, p_part_count integer,
  p_addresses text[], p_sizes bigint[], p_lost text[], p_upload_bytes bigint,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz, p_published boolean
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_bucket uuid;
  v_organization uuid;
  v_old storage.objects;
  v_known boolean;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(storage.bucket_lock(p_project, p_bucket));
  SELECT id, organization_id INTO v_bucket, v_organization
  FROM storage.buckets WHERE project_id = p_project AND name = p_bucket;
  IF NOT FOUND THEN RETURN 'no_bucket'; END IF;

  LOOP
    SELECT * INTO v_old FROM storage.objects WHERE bucket_id = v_bucket AND key = p_key FOR UPDATE;
    v_known := FOUND;
    IF NOT storage.holds(v_known, v_old.etag, v_old.last_modified, p_if_match, p_if_none_match, p_if_unmodified_since)
    THEN RETURN 'precondition'; END IF;
    IF v_known THEN
      UPDATE storage.objects SET
        size = p_size, etag = p_etag, last_modified = p_now, http = p_http, metadata = p_metadata,
        checksums = p_checksums, checksum_type = p_checksum_type, part_count = p_part_count,
        addresses = p_addresses, sizes = p_sizes
      WHERE bucket_id = v_bucket AND key = p_key;
      EXIT;
    END IF;
    INSERT INTO storage.objects VALUES (
      v_bucket, p_key, p_project, p_size, p_etag, p_now, p_http, p_metadata,
      p_checksums, p_checksum_type, p_part_count, p_addresses, p_sizes
    ) ON CONFLICT DO NOTHING;
    -- Somebody else may have put the first one meanwhile: then what they put decides.
    EXIT WHEN FOUND;
  END LOOP;

  PERFORM storage.change_refs(p_project, p_addresses, p_sizes, coalesce(v_old.addresses, '{}') || p_lost, p_now, p_published);
  PERFORM storage.count(
    v_bucket, v_organization, p_project, CASE WHEN v_known THEN 0 ELSE 1 END,
    p_size - coalesce(v_old.size, 0), -p_upload_bytes);
  RETURN 'stored';
END $$;

-- RFC 9110, 13.2.2, for writes. Times in HTTP are whole seconds.
CREATE FUNCTION storage.holds(
  p_known boolean, p_etag text, p_last_modified timestamptz,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz
) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
      WHEN p_if_match IS NOT NULL THEN p_known AND ('*' = ANY (p_if_match) OR p_etag = ANY (p_if_match))
      WHEN p_if_unmodified_since IS NOT NULL THEN NOT p_known OR floor(extract(epoch FROM p_last_modified)) <= extract(epoch FROM p_if_unmodified_since)
      ELSE true
    END
    AND (p_if_none_match IS NULL OR NOT p_known
      OR NOT ('*' = ANY (p_if_none_match) OR p_etag = ANY (p_if_none_match)))
$$;

-- Removes what is there of the keys, all or none of them. No key is a bucket that is not there.
CREATE FUNCTION storage.remove_objects(
  p_project uuid, p_bucket text, p_keys text[], p_now timestamptz,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz
) RETURNS TABLE (outcome text, removed text[]) LANGUAGE plpgsql AS $$
DECLARE
  v_bucket uuid;
  v_organization uuid;
  v_row record;
  v_addresses text[] := '{}';
  v_bytes bigint := 0;
BEGIN
  SELECT id, organization_id INTO v_bucket, v_organization
  FROM storage.buckets WHERE project_id = p_project AND name = p_bucket;
  IF NOT FOUND THEN RETURN QUERY SELECT 'no_bucket', '{}'::text[]; RETURN; END IF;
  removed := '{}';
  FOR v_row IN
    SELECT objects.key, objects.etag, objects.last_modified, objects.size, objects.addresses FROM storage.objects
    WHERE bucket_id = v_bucket AND objects.key = ANY (p_keys) ORDER BY objects.key FOR UPDATE
  LOOP
    IF NOT storage.holds(true, v_row.etag, v_row.last_modified, p_if_match, p_if_none_match, p_if_unmodified_since)
    THEN RETURN QUERY SELECT 'precondition', '{}'::text[]; RETURN; END IF;
    removed := removed || v_row.key;
    v_addresses := v_addresses || v_row.addresses;
    v_bytes := v_bytes + v_row.size;
  END LOOP;
  IF cardinality(removed) > 0 THEN
    DELETE FROM storage.objects WHERE bucket_id = v_bucket AND objects.key = ANY (removed);
    PERFORM storage.change_refs(p_project, '{}', '{}', v_addresses, p_now, false);
    PERFORM storage.count(v_bucket, v_organization, p_project, -cardinality(removed), -v_bytes, 0);
  END IF;
  outcome := 'removed';
  RETURN NEXT;
END $$;

-- Adds a published part, in the place of the one with its number. `stored`, `no_upload`, or `moved_on` when a resumable
-- upload is not at p_offset.
CREATE FUNCTION storage.put_part(
  p_project uuid, p_upload uuid, p_number integer, p_offset bigint, p_address text, p_size bigint, p_etag text,
  p_checksums jsonb, p_now timestamptz
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_upload storage.uploads;
  v_old storage.parts;
BEGIN
  SELECT * INTO v_upload FROM storage.uploads
  WHERE project_id = p_project AND id = p_upload AND completed IS NULL AND expires_at > p_now FOR SHARE;
  IF NOT FOUND THEN RETURN 'no_upload'; END IF;
  IF p_offset IS NOT NULL THEN
    UPDATE storage.uploads SET received_bytes = received_bytes + p_size WHERE id = p_upload AND received_bytes = p_offset;
    IF NOT FOUND THEN RETURN 'moved_on'; END IF;
  END IF;
  LOOP
    SELECT * INTO v_old FROM storage.parts WHERE upload_id = p_upload AND number = p_number FOR UPDATE;
    IF FOUND THEN
      UPDATE storage.parts SET address = p_address, size = p_size, etag = p_etag, checksums = p_checksums, last_modified = p_now
      WHERE upload_id = p_upload AND number = p_number;
      EXIT;
    END IF;
    INSERT INTO storage.parts VALUES (p_upload, p_number, p_address, p_size, p_etag, p_checksums, p_now) ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
  END LOOP;
  PERFORM storage.change_refs(p_project, ARRAY[p_address], ARRAY[p_size], ARRAY[v_old.address], p_now, true);
  PERFORM storage.count(
    v_upload.bucket_id, v_upload.organization_id, p_project, 0, 0, p_size - coalesce(v_old.size, 0));
  RETURN 'stored';
END $$;

-- Forgets an upload and its parts. False when there is none.
CREATE FUNCTION storage.drop_upload(p_project uuid, p_upload uuid, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  v_upload storage.uploads;
  v_addresses text[];
  v_bytes bigint;
BEGIN
  SELECT * INTO v_upload FROM storage.uploads WHERE project_id = p_project AND id = p_upload FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  SELECT coalesce(array_agg(address), '{}'), coalesce(sum(size), 0) INTO v_addresses, v_bytes
  FROM storage.parts WHERE upload_id = p_upload;
  DELETE FROM storage.uploads WHERE id = p_upload;
  PERFORM storage.change_refs(p_project, '{}', '{}', v_addresses, p_now, false);
  PERFORM storage.count(v_upload.bucket_id, v_upload.organization_id, p_project, 0, 0, -v_bytes);
  RETURN true;
END $$;

-- `deleted`, `no_bucket` or `not_empty`. Uploads that are under way end with the bucket.
CREATE FUNCTION storage.delete_bucket(p_project uuid, p_bucket text, p_now timestamptz) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  v_bucket uuid;
BEGIN
  PERFORM pg_advisory_xact_lock(storage.bucket_lock(p_project, p_bucket));
  SELECT id INTO v_bucket FROM storage.buckets WHERE project_id = p_project AND name = p_bucket;
  IF NOT FOUND THEN RETURN 'no_bucket'; END IF;
  IF EXISTS (SELECT 1 FROM storage.objects WHERE bucket_id = v_bucket) THEN RETURN 'not_empty'; END IF;
  PERFORM storage.drop_upload(p_project, id, p_now) FROM (
    SELECT id FROM storage.uploads WHERE bucket_id = v_bucket ORDER BY id
  ) AS ended;
  DELETE FROM storage.buckets WHERE id = v_bucket;
  RETURN 'deleted';
END $$;

-- Up to p_limit entries of a bucket from p_from on (inclusive) and below p_below, in byte order: objects, and in the
-- place of all keys with the delimiter behind the prefix their common beginning. Jumps over what a beginning stands for,
-- so that the work is that of the entries, not of the keys. p_next is what follows the delimiter in that order.
CREATE FUNCTION storage.list_entries(
  p_bucket uuid, p_prefix text, p_from text, p_below text, p_delimiter text, p_next text, p_limit integer
) RETURNS TABLE (
  common_prefix text, key text, size bigint, etag text, last_modified timestamptz, http jsonb, metadata jsonb,
  checksums jsonb, checksum_type text, part_count integer
) LANGUAGE plpgsql STABLE
-- The index has the order already; a plan for parameters it knows nothing of must not decide otherwise.
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  v_row record;
  v_from text COLLATE "C" := p_from;
  v_at integer;
  v_left integer := p_limit;
  v_jumped boolean;
BEGIN
  IF p_delimiter IS NULL THEN
    RETURN QUERY SELECT NULL::text, o.key, o.size, o.etag, o.last_modified, o.http, o.metadata, o.checksums,
      o.checksum_type, o.part_count
    FROM storage.objects AS o
    WHERE o.bucket_id = p_bucket AND o.key >= v_from AND o.key < p_below COLLATE "C"
    ORDER BY o.key LIMIT p_limit;
    RETURN;
  END IF;
  LOOP
    v_jumped := false;
    FOR v_row IN
      SELECT o.key, o.size, o.etag, o.last_modified, o.http, o.metadata, o.checksums, o.checksum_type, o.part_count
      FROM storage.objects AS o
      WHERE o.bucket_id = p_bucket AND o.key >= v_from AND o.key < p_below COLLATE "C"
      ORDER BY o.key LIMIT v_left
    LOOP
      v_at := position(p_delimiter IN substr(v_row.key, length(p_prefix) + 1));
      v_left := v_left - 1;
      v_jumped := v_at > 0;
      IF v_jumped THEN
        common_prefix := left(v_row.key, length(p_prefix) + v_at - 1);
        v_from := common_prefix || p_next;
        common_prefix := common_prefix || p_delimiter;
        key := NULL;
        RETURN NEXT;
        EXIT;
      END IF;
      common_prefix := NULL;
      key := v_row.key;
      size := v_row.size;
      etag := v_row.etag;
      last_modified := v_row.last_modified;
      http := v_row.http;
      metadata := v_row.metadata;
      checksums := v_row.checksums;
      checksum_type := v_row.checksum_type;
      part_count := v_row.part_count;
      RETURN NEXT;
    END LOOP;
    EXIT WHEN v_left <= 0 OR NOT v_jumped;
  END LOOP;
END $$;
