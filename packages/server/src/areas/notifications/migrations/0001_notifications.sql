-- Who receives: a member of an organization by the user's id, or a service key by the id of its first version.
CREATE TABLE notifications.inboxes (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  -- The number of the latest entry. Locked until a sending commits, so entries become visible in their order.
  last_seq bigint NOT NULL,
  PRIMARY KEY (organization_id, user_id)
);

-- What was sent, once for all its recipients.
CREATE TABLE notifications.messages (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- Null: of no project.
  project_id uuid,
  type text,
  category text,
  title text NOT NULL,
  body text NOT NULL,
  data jsonb NOT NULL,
  action_url text,
  priority text NOT NULL,
  collapse_key text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz
);
CREATE INDEX messages_created_at ON notifications.messages (created_at);
CREATE INDEX messages_expires_at ON notifications.messages (expires_at) WHERE expires_at IS NOT NULL;

-- One recipient's copy. The fields that lists filter by are repeated here, so that one index answers.
CREATE TABLE notifications.entries (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  id uuid NOT NULL REFERENCES notifications.messages ON DELETE CASCADE,
  seq bigint NOT NULL,
  project_id uuid,
  collapse_key text,
  -- False where the recipient's preferences keep it out of the inbox.
  in_app boolean NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  read_at timestamptz,
  seen_at timestamptz,
  archived_at timestamptz,
  PRIMARY KEY (organization_id, user_id, id)
);
CREATE INDEX entries_id ON notifications.entries (id);
CREATE UNIQUE INDEX entries_seq ON notifications.entries (organization_id, user_id, seq DESC);
-- Counts the unread without a look at the table.
CREATE INDEX entries_unread ON notifications.entries (organization_id, user_id)
  INCLUDE (project_id, expires_at)
  WHERE in_app AND read_at IS NULL AND archived_at IS NULL;
CREATE INDEX entries_collapse_key ON notifications.entries (organization_id, user_id, collapse_key)
  WHERE collapse_key IS NOT NULL AND read_at IS NULL AND archived_at IS NULL;

CREATE TABLE notifications.dedupe_keys (
  organization_id uuid NOT NULL,
  -- The project, or the organization where none was named.
  owner_id uuid NOT NULL,
  dedupe_key text NOT NULL,
  -- The answer of the first sending.
  result jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, owner_id, dedupe_key)
);
CREATE INDEX dedupe_keys_created_at ON notifications.dedupe_keys (created_at);

CREATE TABLE notifications.devices (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  platform text NOT NULL,
  provider text NOT NULL,
  environment text NOT NULL,
  -- SHA-256 of the token, or of the subscription's endpoint.
  token_hash bytea NOT NULL,
  token_hint text NOT NULL,
  -- Where to push, sealed.
  target text NOT NULL,
  name text,
  locale text,
  last_success_at timestamptz,
  invalidated_at timestamptz,
  invalid_reason text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  UNIQUE (organization_id, provider, token_hash)
);
CREATE INDEX devices_user_id ON notifications.devices (organization_id, user_id, created_at DESC);

-- What became of an entry outside the inbox.
CREATE TABLE notifications.deliveries (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  notification_id uuid NOT NULL,
  channel text NOT NULL,
  device_id uuid,
  status text NOT NULL,
  provider_status integer,
  reason text,
  at timestamptz NOT NULL,
  FOREIGN KEY (organization_id, user_id, notification_id) REFERENCES notifications.entries ON DELETE CASCADE
);
CREATE INDEX deliveries_notification_id
  ON notifications.deliveries (organization_id, user_id, notification_id);

CREATE TABLE notifications.preferences (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  preferences jsonb NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, user_id)
);

-- How an organization pushes. Keys are sealed.
CREATE TABLE notifications.providers (
  organization_id uuid PRIMARY KEY,
  vapid_public_key text NOT NULL,
  vapid_private_key text NOT NULL,
  vapid_subject text,
  fcm text,
  apns text
);
