-- Repositories of images: blobs of a project, the repositories that have them, and manifests that name them.

CREATE TABLE registry.repositories (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX repositories_name ON registry.repositories (project_id, name);

-- Under way: bytes arrive, and their digest is not known yet.
CREATE TABLE registry.uploads (
  project_id uuid NOT NULL,
  id uuid NOT NULL,
  repository_id uuid NOT NULL,
  received_bytes bigint NOT NULL,
  touched_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, id),
  FOREIGN KEY (project_id, repository_id) REFERENCES registry.repositories
);
CREATE INDEX uploads_repository ON registry.uploads (project_id, repository_id);
CREATE INDEX uploads_touched_at ON registry.uploads (touched_at);

-- Files on the blob port. Their owner there is the upload that brought them, so that no two blobs share one.
CREATE TABLE registry.pieces (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  number integer NOT NULL,
  address text NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (project_id, store_id, number)
);
CREATE INDEX pieces_store ON registry.pieces (store_id);

CREATE TABLE registry.blobs (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  digest text COLLATE "C" NOT NULL,
  store_id uuid NOT NULL,
  bytes bigint NOT NULL,
  touched_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, digest)
);
CREATE INDEX blobs_touched_at ON registry.blobs (touched_at);
CREATE INDEX blobs_organization ON registry.blobs (organization_id);

-- Which repository has which blob.
CREATE TABLE registry.repository_blobs (
  project_id uuid NOT NULL,
  repository_id uuid NOT NULL,
  digest text COLLATE "C" NOT NULL,
  -- Last pushed, asked for or referred to: one that no manifest names is kept for some time after.
  touched_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, repository_id, digest),
  FOREIGN KEY (project_id, repository_id) REFERENCES registry.repositories,
  FOREIGN KEY (project_id, digest) REFERENCES registry.blobs
);
CREATE INDEX repository_blobs_digest ON registry.repository_blobs (project_id, digest);
CREATE INDEX repository_blobs_touched_at ON registry.repository_blobs (touched_at);

CREATE TABLE registry.manifests (
  project_id uuid NOT NULL,
  repository_id uuid NOT NULL,
  digest text COLLATE "C" NOT NULL,
  media_type text NOT NULL,
  content bytea NOT NULL,
  artifact_type text,
  subject text COLLATE "C",
  -- JSON as it came, null characters included, which jsonb would refuse.
  annotations text,
  pushed_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, repository_id, digest),
  FOREIGN KEY (project_id, repository_id) REFERENCES registry.repositories
);
CREATE INDEX manifests_subject ON registry.manifests (project_id, repository_id, subject, digest) WHERE subject IS NOT NULL;

CREATE TABLE registry.manifest_blobs (
  project_id uuid NOT NULL,
  repository_id uuid NOT NULL,
  manifest text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, repository_id, manifest, digest),
  FOREIGN KEY (project_id, repository_id, manifest) REFERENCES registry.manifests ON DELETE CASCADE,
  FOREIGN KEY (project_id, repository_id, digest) REFERENCES registry.repository_blobs
);
CREATE INDEX manifest_blobs_digest ON registry.manifest_blobs (project_id, repository_id, digest);

CREATE TABLE registry.tags (
  project_id uuid NOT NULL,
  repository_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, repository_id, name),
  FOREIGN KEY (project_id, repository_id, digest) REFERENCES registry.manifests ON DELETE CASCADE
);
CREATE INDEX tags_digest ON registry.tags (project_id, repository_id, digest);

-- Pieces that nobody refers to any more. Readers that found them before have some time to read them to their end.
CREATE TABLE registry.garbage (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  released_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, store_id)
);
CREATE INDEX garbage_released_at ON registry.garbage (released_at);
