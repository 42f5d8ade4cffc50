-- Deep researches of projects: what was asked, what was done and found so far, and the answer.

CREATE TABLE ai_research.runs (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  id uuid NOT NULL,
  query text NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'partial', 'failed', 'cancelled')),
  status_reason text,
  scope text[] NOT NULL,
  breadth integer NOT NULL,
  depth integer NOT NULL,
  -- What was asked of the answer; null where the research may choose.
  asked_technique text,
  asked_model text,
  asked_language text,
  -- What is to be done next, with what was found: only the research itself reads it.
  state jsonb NOT NULL,
  steps jsonb NOT NULL,
  planned integer NOT NULL,
  sources jsonb NOT NULL,
  answer text,
  technique text,
  model text,
  method text,
  warnings jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  deadline_at timestamptz NOT NULL,
  finished_at timestamptz,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX runs_created_at ON ai_research.runs (project_id, created_at);
CREATE INDEX runs_age ON ai_research.runs (created_at);
