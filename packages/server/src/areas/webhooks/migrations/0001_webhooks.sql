-- Endpoints that are told what happens in an organization.
CREATE TABLE webhooks.webhooks (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- Null: told of all projects.
  project_id uuid,
  url text NOT NULL,
  -- Types, or beginnings of types followed by `*`.
  event_types text[] NOT NULL,
  description text NOT NULL,
  active boolean NOT NULL,
  -- Sealed.
  secret text NOT NULL,
  secret_hint text NOT NULL,
  -- Set when the platform switched it off.
  disabled_at timestamptz,
  disabled_reason text CHECK (disabled_reason IN ('gone', 'failing')),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX webhooks_organization_id ON webhooks.webhooks (organization_id, created_at DESC, id DESC);

-- Secrets that were replaced, and still sign until their time is over.
CREATE TABLE webhooks.old_secrets (
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL REFERENCES webhooks.webhooks ON DELETE CASCADE,
  id uuid NOT NULL,
  -- Sealed.
  secret text NOT NULL,
  signs_until timestamptz NOT NULL,
  PRIMARY KEY (webhook_id, id)
);
