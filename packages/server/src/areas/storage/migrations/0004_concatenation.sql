-- Resumable uploads that are parts of another one. Where a partial upload's bytes will go is only told by the upload that
-- puts them together, so it has no bucket.
ALTER TABLE storage.uploads ALTER COLUMN bucket_id DROP NOT NULL;
ALTER TABLE storage.uploads ADD COLUMN concat text CHECK (concat IN ('partial', 'final'));
-- The header of a final upload, as the client sent it.
ALTER TABLE storage.uploads ADD COLUMN concat_text text;
CREATE INDEX uploads_partial ON storage.uploads (organization_id) WHERE bucket_id IS NULL;

-- What is kept by organization and project: objects, and what has arrived of uploads.
CREATE VIEW storage.occupied AS
  SELECT organization_id, project_id, size_bytes, upload_bytes FROM storage.counts
  UNION ALL
  SELECT organization_id, project_id, 0, received_bytes FROM storage.uploads WHERE bucket_id IS NULL;

-- As before; uploads without a bucket are counted by their own rows.
CREATE OR REPLACE FUNCTION storage.count(
  p_bucket uuid, p_organization uuid, p_project uuid, p_objects bigint, p_bytes bigint, p_upload_bytes bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_bucket IS NULL THEN RETURN; END IF;
  INSERT INTO storage.counts AS counted (bucket_id, shard, organization_id, project_id, object_count, size_bytes, upload_bytes)
  VALUES (p_bucket, pg_backend_pid() % 16, p_organization, p_project, p_objects, p_bytes, p_upload_bytes)
  ON CONFLICT (bucket_id, shard) DO UPDATE SET
    object_count = counted.object_count + excluded.object_count,
    size_bytes = counted.size_bytes + excluded.size_bytes,
    upload_bytes = counted.upload_bytes + excluded.upload_bytes;
END $$;
