-- What a project searches in.
CREATE TABLE search.sources (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  name text NOT NULL,
  type text NOT NULL CHECK (type IN ('inline', 'database', 'storage', 'url')),
  config jsonb NOT NULL,
  -- [{path, weight}]
  fields jsonb NOT NULL,
  language text NOT NULL,
  schedule_seconds integer,
  enabled boolean NOT NULL,
  document_count bigint NOT NULL,
  last_run_at timestamptz,
  last_error text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  -- Its documents are not found from this moment on, and removed in the background.
  deleted_at timestamptz
);
CREATE UNIQUE INDEX sources_name ON search.sources (project_id, name) WHERE deleted_at IS NULL;
CREATE INDEX sources_created_at ON search.sources (project_id, created_at);
CREATE INDEX sources_due ON search.sources (last_run_at NULLS FIRST)
  WHERE schedule_seconds IS NOT NULL AND enabled AND deleted_at IS NULL;

CREATE INDEX sources_deleted ON search.sources (project_id) WHERE deleted_at IS NOT NULL;

-- One reading of one source. Several that were asked for together share an id.
CREATE TABLE search.runs (
  project_id uuid NOT NULL,
  id uuid NOT NULL,
  source_id uuid NOT NULL REFERENCES search.sources ON DELETE CASCADE,
  status text NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
  -- Where the reading goes on; null at the beginning.
  cursor text,
  -- Which attempt works on it: what an earlier one still wants to write does not count.
  attempt integer NOT NULL DEFAULT 0,
  seen bigint NOT NULL DEFAULT 0,
  written bigint NOT NULL DEFAULT 0,
  unchanged bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  removed bigint NOT NULL DEFAULT 0,
  -- [{document_id, message}], the first 100
  errors jsonb NOT NULL DEFAULT '[]',
  error text,
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz,
  PRIMARY KEY (project_id, id, source_id)
);
CREATE UNIQUE INDEX runs_unfinished ON search.runs (project_id, source_id) WHERE status IN ('queued', 'running');
CREATE INDEX runs_of_source ON search.runs (project_id, source_id, created_at);

-- What the index holds of each document, whichever engine keeps it: what has this hash need not be written again, and
-- what a whole run has not seen is gone.
CREATE TABLE search.entries (
  project_id uuid NOT NULL,
  source_id uuid NOT NULL,
  document_id text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  -- The run that saw it last; null when it was given by hand.
  run_id uuid,
  PRIMARY KEY (project_id, source_id, document_id)
);

-- The index itself, where the control database is the engine.
CREATE TABLE search.documents (
  project_id uuid NOT NULL,
  source_id uuid NOT NULL,
  id text COLLATE "C" NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  url text,
  metadata jsonb NOT NULL,
  language text NOT NULL,
  boost real NOT NULL,
  updated_at timestamptz NOT NULL,
  lexemes tsvector NOT NULL,
  PRIMARY KEY (project_id, source_id, id)
);
CREATE INDEX documents_newest ON search.documents (project_id, updated_at, source_id, id);

-- Lexemes under the beginning of their project's id: what others have, however much of it, lies elsewhere in the index.
-- Two projects whose ids begin alike share a part of it, and nothing else, since every statement names the project too.
CREATE FUNCTION search.scoped(p_project uuid, p_lexemes tsvector) RETURNS tsvector
-- Some 50 microseconds a document: to a planner that thinks it cheap, reading every document looks as good as the index.
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 20000 AS $$
  SELECT pg_catalog.array_to_tsvector(ARRAY(
    SELECT pg_catalog.right(p_project::pg_catalog.text, 8) || pg_catalog.left(lexeme, 200)
    FROM pg_catalog.unnest(pg_catalog.tsvector_to_array(p_lexemes)) AS lexeme))
$$;
CREATE INDEX documents_lexemes ON search.documents USING gin (search.scoped(project_id, lexemes))
  -- Readers would otherwise go through what was written last, one by one.
  WITH (fastupdate = off);

-- The words of a project's documents as they are written, with how many have them.
CREATE TABLE search.words (
  project_id uuid NOT NULL,
  word text COLLATE "C" NOT NULL,
  documents bigint NOT NULL,
  PRIMARY KEY (project_id, word)
) WITH (fillfactor = 80);

CREATE FUNCTION search.words_of(p_text text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT lexeme FROM pg_catalog.unnest(pg_catalog.tsvector_to_array(
    -- What stands in tags and entities is text like any other.
    pg_catalog.to_tsvector('pg_catalog.simple', pg_catalog.translate(p_text, '<>&', '   ')))) AS lexeme
  WHERE lexeme ~ '^[[:alpha:]]{2,40}$'
$$;

-- The languages that a project's documents are, or once were, written in.
CREATE TABLE search.languages (
  project_id uuid NOT NULL,
  language text NOT NULL,
  PRIMARY KEY (project_id, language)
);
