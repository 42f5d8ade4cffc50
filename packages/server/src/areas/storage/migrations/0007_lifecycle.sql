-- Rules that let objects, versions and uploads end are among the settings of a bucket. What carries them out looks at buckets with rules
-- alone.
CREATE INDEX buckets_lifecycle ON storage.buckets (id) WHERE settings ? 'lifecycle';
