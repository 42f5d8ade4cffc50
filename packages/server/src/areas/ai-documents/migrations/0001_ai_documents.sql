CREATE TABLE ai_documents.documents (
  project_id uuid NOT NULL,
  id uuid NOT NULL,
  format text NOT NULL,
  title text NOT NULL,
  -- The latest one.
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX documents_newest ON ai_documents.documents (project_id, updated_at, id);

-- Never changed once written.
CREATE TABLE ai_documents.versions (
  project_id uuid NOT NULL,
  document_id uuid NOT NULL,
  version integer NOT NULL,
  title text NOT NULL,
  format text NOT NULL,
  -- Id of a template, or `custom`; null without.
  template text,
  -- Of the file in its format.
  bytes integer NOT NULL,
  -- Of `source`.
  sha256 bytea NOT NULL,
  -- How many edits it has, those of earlier versions included.
  edits integer NOT NULL,
  -- JSON: text, data, edits and style, and the tree that they make. As texts, because JSON may have characters that jsonb has not.
  source text NOT NULL,
  tree text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, document_id, version),
  FOREIGN KEY (project_id, document_id) REFERENCES ai_documents.documents ON DELETE CASCADE
);
