-- Collections of vectors. The rows are the truth; whatever finds the nearest of them is built from these rows.

CREATE TABLE vectors.collections (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- The project, or the organization.
  owner_id uuid NOT NULL,
  name text NOT NULL,
  dimension integer NOT NULL,
  metric text NOT NULL CHECK (metric IN ('cosine', 'dot', 'euclidean')),
  index_type text NOT NULL CHECK (index_type IN ('auto', 'hnsw', 'flat')),
  m integer NOT NULL,
  ef_construction integer NOT NULL,
  vector_count bigint NOT NULL,
  -- Grows by one with every write. Writers of a collection take turns on this row, so whoever reads a sequence number
  -- sees all changes up to it.
  last_seq bigint NOT NULL,
  -- Deletions up to here are forgotten; an index that is behind it starts anew.
  forgotten_seq bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX collections_name ON vectors.collections (organization_id, owner_id, name);

CREATE TABLE vectors.vectors (
  -- No reference: the vectors of a deleted collection are deleted after it, piece by piece.
  collection_id uuid NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  -- 32-bit floats, little-endian; null in a deleted vector, whose row stays until every index has heard of it.
  "values" bytea,
  metadata jsonb,
  deleted_at timestamptz,
  PRIMARY KEY (collection_id, id)
);
CREATE INDEX vectors_seq ON vectors.vectors (collection_id, seq, id);
CREATE INDEX vectors_deleted_at ON vectors.vectors (deleted_at) WHERE deleted_at IS NOT NULL;
-- Floats hardly compress.
ALTER TABLE vectors.vectors ALTER COLUMN "values" SET STORAGE EXTERNAL;

-- Collections that are deleted, until their vectors and what was built from them are gone too.
CREATE TABLE vectors.dropped (
  collection_id uuid PRIMARY KEY,
  dropped_at timestamptz NOT NULL
);
