-- The parts that an object was put together from, by number: `[{number, size, checksums}]`. Null where it was sent whole,
-- and for objects made before this was kept, whose parts follow from their blobs.
ALTER TABLE storage.objects ADD COLUMN parts jsonb;

-- As before, and keeps the parts.
CREATE FUNCTION storage.put_object(
  p_project uuid, p_bucket text, p_key text, p_size bigint, p_etag text, p_now timestamptz,
  p_http jsonb, p_metadata jsonb, p_checksums jsonb, p_checksum_type text, p_part_count integer,
  p_addresses text[], p_sizes bigint[], p_lost text[], p_upload_bytes bigint,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz, p_published boolean,
  p_parts jsonb
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
        addresses = p_addresses, sizes = p_sizes, parts = p_parts
      WHERE bucket_id = v_bucket AND key = p_key;
      EXIT;
    END IF;
    INSERT INTO storage.objects VALUES (
      v_bucket, p_key, p_project, p_size, p_etag, p_now, p_http, p_metadata,
      p_checksums, p_checksum_type, p_part_count, p_addresses, p_sizes, p_parts
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

-- Processes of the version before call this one. Its objects must not keep the parts of what they replace.
CREATE OR REPLACE FUNCTION storage.put_object(
  p_project uuid, p_bucket text, p_key text, p_size bigint, p_etag text, p_now timestamptz,
  p_http jsonb, p_metadata jsonb, p_checksums jsonb, p_checksum_type text, p_part_count integer,
  p_addresses text[], p_sizes bigint[], p_lost text[], p_upload_bytes bigint,
  p_if_match text[], p_if_none_match text[], p_if_unmodified_since timestamptz, p_published boolean
) RETURNS text LANGUAGE sql AS $$
  SELECT storage.put_object(
    p_project, p_bucket, p_key, p_size, p_etag, p_now, p_http, p_metadata, p_checksums, p_checksum_type, p_part_count,
    p_addresses, p_sizes, p_lost, p_upload_bytes, p_if_match, p_if_none_match, p_if_unmodified_since, p_published, NULL)
$$;
