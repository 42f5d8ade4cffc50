-- Documents of projects, and the chunks by which they are found.

CREATE TABLE ai_rag.documents (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  content_type text NOT NULL,
  format text NOT NULL,
  size bigint NOT NULL,
  sha256 bytea NOT NULL,
  -- Where the file is until it was read; it is not stored any longer than that.
  address text,
  status text NOT NULL CHECK (status IN ('queued', 'processing', 'ready', 'failed')),
  status_reason text,
  pages integer,
  chunks integer NOT NULL,
  tokens bigint NOT NULL,
  embedding_model text,
  embedding_dimensions integer,
  metadata jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX documents_sha256 ON ai_rag.documents (project_id, sha256);
CREATE INDEX documents_created_at ON ai_rag.documents (project_id, created_at);

CREATE TABLE ai_rag.chunks (
  project_id uuid NOT NULL,
  document_id uuid NOT NULL,
  id uuid NOT NULL,
  text text NOT NULL,
  heading text,
  page integer,
  start_at integer NOT NULL,
  end_at integer NOT NULL,
  -- Words with their positions, and how many there are.
  lexemes tsvector NOT NULL,
  length integer NOT NULL,
  embedding_model text NOT NULL,
  embedding_dimensions integer NOT NULL,
  -- Floats of 32 bits, little-endian.
  embedding bytea NOT NULL,
  PRIMARY KEY (project_id, document_id, id),
  FOREIGN KEY (project_id, document_id) REFERENCES ai_rag.documents ON DELETE CASCADE
);
CREATE UNIQUE INDEX chunks_id ON ai_rag.chunks (project_id, id);

-- Lexemes under the end of their project's id: what other projects have lies elsewhere in the index.
CREATE FUNCTION ai_rag.scoped(p_project uuid, p_lexemes text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 20000 AS $$
  SELECT ARRAY(
    SELECT pg_catalog.right(p_project::pg_catalog.text, 8) || pg_catalog.left(lexeme, 200)
    FROM pg_catalog.unnest(p_lexemes) AS lexeme)
$$;
CREATE INDEX chunks_lexemes ON ai_rag.chunks USING gin (ai_rag.scoped(project_id, pg_catalog.tsvector_to_array(lexemes)))
  -- Readers would otherwise go through what was written last, one by one.
  WITH (fastupdate = off);
