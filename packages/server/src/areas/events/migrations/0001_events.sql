CREATE TABLE events.topics (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid,
  -- The project, or the organization where none is named.
  owner_id uuid NOT NULL,
  name text NOT NULL,
  retention_days integer NOT NULL,
  event_count bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  CONSTRAINT topics_name UNIQUE (owner_id, name)
);

-- Ids that publishers gave, for a day.
CREATE TABLE events.dedupes (
  topic_id uuid NOT NULL,
  dedupe_key text COLLATE "C" NOT NULL,
  message_id uuid NOT NULL,
  event_type text NOT NULL,
  source text,
  matched integer NOT NULL,
  published_at timestamptz NOT NULL,
  PRIMARY KEY (topic_id, dedupe_key)
);

CREATE INDEX dedupes_published_at ON events.dedupes (published_at);

CREATE TABLE events.subscriptions (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid,
  owner_id uuid NOT NULL,
  topic_id uuid NOT NULL REFERENCES events.topics (id) ON DELETE CASCADE,
  sub_type text NOT NULL,
  -- The URL, or the function's name.
  target text NOT NULL,
  -- Sealed, as a JSON object: they may hold credentials.
  headers text,
  header_names text[] NOT NULL,
  timeout_seconds integer NOT NULL,
  format text NOT NULL,
  -- Empty: every type.
  event_types text[] NOT NULL,
  max_retries integer NOT NULL,
  retry_schedule_seconds integer[],
  ordered boolean NOT NULL,
  max_per_second integer,
  status text NOT NULL,
  disabled_reason text,
  -- Sealed.
  secret text NOT NULL,
  secret_hint text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE INDEX subscriptions_topic ON events.subscriptions (topic_id, created_at);

-- Secrets of before a rotation, which sign beside the new one for a while.
CREATE TABLE events.old_secrets (
  subscription_id uuid NOT NULL REFERENCES events.subscriptions (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  secret text NOT NULL,
  signs_until timestamptz NOT NULL,
  PRIMARY KEY (subscription_id, id)
);
