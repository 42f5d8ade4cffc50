CREATE TABLE email.templates (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  name text NOT NULL,
  version integer NOT NULL,
  subject text NOT NULL,
  -- Liquid; compiled from `mjml` where that is given.
  html text NOT NULL,
  text text,
  mjml text,
  from_address text,
  reply_to text,
  bulk boolean NOT NULL,
  -- `[{name, type, required, default}]`
  variables jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX templates_name ON email.templates (organization_id, name);

-- Mails that were accepted.
CREATE TABLE email.messages (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid,
  -- `<id@domain>`
  message_id text NOT NULL,
  from_address text NOT NULL,
  from_name text NOT NULL,
  -- Of the sender's address, ASCII, lower case.
  domain text NOT NULL,
  -- `[{email, name}]`
  to_addresses jsonb NOT NULL,
  cc_addresses jsonb NOT NULL,
  reply_to jsonb,
  subject text NOT NULL,
  template text,
  html text,
  text text,
  headers jsonb NOT NULL,
  -- `{name: value}`
  tags jsonb NOT NULL,
  bulk boolean NOT NULL,
  track_opens boolean NOT NULL,
  track_clicks boolean NOT NULL,
  scheduled_at timestamptz,
  created_at timestamptz NOT NULL
);
CREATE INDEX messages_newest ON email.messages (organization_id, created_at DESC, id DESC);
CREATE INDEX messages_template ON email.messages (organization_id, template, created_at DESC)
  WHERE template IS NOT NULL;
CREATE INDEX messages_created_at ON email.messages (created_at);

CREATE TABLE email.attachments (
  organization_id uuid NOT NULL,
  email_id uuid NOT NULL REFERENCES email.messages ON DELETE CASCADE,
  position integer NOT NULL,
  filename text NOT NULL,
  content_type text NOT NULL,
  content_id text,
  content bytea NOT NULL,
  PRIMARY KEY (email_id, position)
);
-- Files are compressed already, most of the time.
ALTER TABLE email.attachments ALTER COLUMN content SET STORAGE EXTERNAL;

-- Each recipient gets a mail of its own: links, return path and outcome are its own.
CREATE TABLE email.recipients (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  email_id uuid NOT NULL REFERENCES email.messages ON DELETE CASCADE,
  position integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('to', 'cc', 'bcc')),
  address text NOT NULL,
  status text NOT NULL CHECK (status IN
    ('queued', 'delayed', 'delivered', 'bounced', 'complained', 'failed', 'suppressed', 'cancelled')),
  attempts integer NOT NULL,
  last_error text,
  -- Set while the mail is in the mailbox of this installation.
  captured_at timestamptz,
  updated_at timestamptz NOT NULL
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX recipients_position ON email.recipients (email_id, position);
CREATE INDEX recipients_address ON email.recipients (organization_id, lower(address), id DESC);
CREATE INDEX recipients_captured ON email.recipients (organization_id, captured_at DESC, id DESC)
  WHERE captured_at IS NOT NULL;

-- What became of mails; nothing here is ever changed.
CREATE TABLE email.events (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid,
  email_id uuid NOT NULL,
  recipient_id uuid NOT NULL,
  message_id text NOT NULL,
  event text NOT NULL CHECK (event IN ('sent', 'delivered', 'delivery_delayed', 'bounced', 'complained', 'opened',
    'clicked', 'suppressed', 'unsubscribed', 'failed')),
  recipient text NOT NULL,
  from_address text NOT NULL,
  subject text NOT NULL,
  template text,
  domain text NOT NULL,
  tags jsonb NOT NULL,
  details jsonb NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX events_newest ON email.events (organization_id, created_at DESC, id DESC);
CREATE INDEX events_email ON email.events (organization_id, email_id);
CREATE INDEX events_template ON email.events (organization_id, template, created_at) WHERE template IS NOT NULL;
CREATE INDEX events_created_at ON email.events (created_at);

-- Mails accepted in a month (UTC), by recipients: what a plan's quota counts.
CREATE TABLE email.sends (
  organization_id uuid NOT NULL,
  -- First day of the month.
  month date NOT NULL,
  -- Each connection adds to a row of its own, so that senders do not wait for each other's transactions.
  shard smallint NOT NULL,
  recipients bigint NOT NULL,
  PRIMARY KEY (organization_id, month, shard)
) WITH (fillfactor = 50);
