CREATE TABLE waf.rules (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  name text NOT NULL,
  pattern text NOT NULL,
  match text NOT NULL,
  targets text[] NOT NULL,
  action text NOT NULL,
  priority integer NOT NULL,
  enabled boolean NOT NULL,
  -- Null: every load balancer of the project.
  load_balancer_id uuid,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX rules_project_id ON waf.rules (project_id, priority, id);

-- Requests that rules or limits met. The ids are in the order of time.
CREATE TABLE waf.events (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  load_balancer_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  source text NOT NULL,
  action text NOT NULL,
  rule_id uuid,
  rule_name text,
  client_ip text NOT NULL,
  method text NOT NULL,
  host text NOT NULL,
  path text NOT NULL,
  matched_target text NOT NULL,
  matched_value text NOT NULL,
  request_id text NOT NULL
);
CREATE INDEX events_project_id ON waf.events (project_id, id DESC);
CREATE INDEX events_created_at ON waf.events (created_at);

-- How many requests of ten minutes met what.
CREATE TABLE waf.counters (
  project_id uuid NOT NULL,
  slot timestamptz NOT NULL,
  name text NOT NULL,
  -- Of matches: the rule. Else empty.
  subject text NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (project_id, slot, name, subject)
);
CREATE INDEX counters_slot ON waf.counters (slot);
