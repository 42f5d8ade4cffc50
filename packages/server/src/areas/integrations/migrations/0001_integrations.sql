-- Repositories at git providers, and what becomes of their pushes.
CREATE TABLE integrations.integrations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  provider text NOT NULL CHECK (provider IN ('github', 'gitlab', 'bitbucket', 'gitea')),
  repository text NOT NULL,
  installation_id bigint,
  branch_filter text[] NOT NULL,
  path_include text[] NOT NULL,
  path_exclude text[] NOT NULL,
  auto_build boolean NOT NULL,
  auto_deploy boolean NOT NULL,
  preview boolean NOT NULL,
  build jsonb NOT NULL,
  deploy_target jsonb,
  status text NOT NULL CHECK (status IN ('pending', 'active', 'paused', 'error')),
  -- Sealed.
  secret text NOT NULL,
  secret_hint text NOT NULL,
  -- The secret before, sealed, accepted until its time is over.
  old_secret text,
  old_secret_until timestamptz,
  -- The newest event.
  last_event_at timestamptz,
  last_event_id uuid,
  last_error text,
  -- When the heads of branches were last looked at; null: never, so that nothing that is there counts as a push.
  polled_at timestamptz,
  poll_etag text,
  -- Not before this time: the provider asked for patience.
  poll_after timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX integrations_repository ON integrations.integrations (project_id, provider, lower(repository));
CREATE INDEX integrations_project_id ON integrations.integrations (project_id, created_at DESC, id DESC);

-- The newest known commit of each branch and tag: what is pushed is what differs from it.
CREATE TABLE integrations.heads (
  organization_id uuid NOT NULL,
  integration_id uuid NOT NULL REFERENCES integrations.integrations ON DELETE CASCADE,
  ref text NOT NULL,
  commit text NOT NULL,
  known_at timestamptz NOT NULL,
  PRIMARY KEY (integration_id, ref)
);

-- What providers told, and what was found by looking.
CREATE TABLE integrations.events (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  integration_id uuid NOT NULL REFERENCES integrations.integrations ON DELETE CASCADE,
  source text NOT NULL CHECK (source IN ('webhook', 'poll', 'replay')),
  type text NOT NULL CHECK (type IN ('push', 'tag', 'pull_request', 'ping', 'other')),
  provider_event text NOT NULL,
  delivery_id text,
  -- Which of the changes that one delivery tells.
  part integer NOT NULL,
  repository text NOT NULL,
  ref text,
  commit text,
  commit_before text,
  message text,
  author text,
  pull_request jsonb,
  paths jsonb,
  status text NOT NULL CHECK (status IN ('received', 'processed', 'ignored', 'failed')),
  reason text,
  -- Whether it moved its ref on, or brought a pull request commits that it did not have.
  is_new boolean NOT NULL,
  build_id uuid,
  received_at timestamptz NOT NULL,
  processed_at timestamptz
);
-- A delivery that comes again is known for as long as its event is kept.
CREATE UNIQUE INDEX events_delivery_id ON integrations.events (integration_id, delivery_id, part);
CREATE INDEX events_integration_id ON integrations.events (integration_id, received_at DESC, id DESC);
CREATE INDEX events_ref ON integrations.events (integration_id, ref) WHERE is_new;
CREATE INDEX events_received_at ON integrations.events (received_at);

-- What opens a provider's API for a project.
CREATE TABLE integrations.credentials (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  provider text NOT NULL CHECK (provider IN ('github', 'gitlab', 'bitbucket', 'gitea')),
  kind text NOT NULL CHECK (kind IN ('token', 'app')),
  base_url text NOT NULL,
  username text,
  app_id text,
  -- Token or private key, sealed.
  secret text NOT NULL,
  hint text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, provider)
);

-- Installations of a GitHub App that were found to be the project's.
CREATE TABLE integrations.installations (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  installation_id bigint NOT NULL,
  account_login text NOT NULL,
  account_type text NOT NULL,
  repository_selection text NOT NULL,
  permissions jsonb NOT NULL,
  suspended_at timestamptz,
  html_url text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, installation_id)
);
