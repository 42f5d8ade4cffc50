CREATE SEQUENCE support.ticket_numbers AS integer START 1000;

CREATE TABLE support.tickets (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- For people to name it by.
  number integer NOT NULL UNIQUE,
  subject text NOT NULL,
  description text NOT NULL,
  status text NOT NULL CHECK (status IN ('open', 'pending', 'on_hold', 'resolved', 'closed')),
  priority text NOT NULL CHECK (priority IN ('low', 'normal', 'high', 'urgent')),
  category text,
  tags text[] NOT NULL,
  -- A person, or a key.
  requester_id uuid NOT NULL,
  requester_name text NOT NULL,
  -- The person's, or that of the one who made the key.
  requester_email text,
  -- A person of the operator's organization.
  assignee_id uuid,
  -- The chat that it comes from.
  session_id uuid,
  -- Comments that the customer may see, and those only agents do.
  comment_count integer NOT NULL,
  note_count integer NOT NULL,
  -- Signs the addresses that answers by mail go to.
  reply_key bytea NOT NULL,
  first_response_at timestamptz,
  last_comment_at timestamptz,
  resolved_at timestamptz,
  closed_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX tickets_organization_id ON support.tickets (organization_id, created_at DESC, id DESC);
CREATE INDEX tickets_created_at ON support.tickets (created_at DESC, id DESC);
CREATE INDEX tickets_words ON support.tickets USING gin (to_tsvector('simple', subject || ' ' || description));

CREATE TABLE support.comments (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  ticket_id uuid NOT NULL REFERENCES support.tickets ON DELETE CASCADE,
  author_type text NOT NULL CHECK (author_type IN ('customer', 'agent')),
  author_id uuid NOT NULL,
  author_name text NOT NULL,
  body text NOT NULL,
  -- Never shown to customers.
  internal boolean NOT NULL,
  source text NOT NULL CHECK (source IN ('api', 'email')),
  -- Of the mail that it came by: a mail that is delivered twice is taken once.
  mail_id text,
  created_at timestamptz NOT NULL,
  UNIQUE (ticket_id, mail_id)
);
CREATE INDEX comments_ticket_id ON support.comments (organization_id, ticket_id, created_at, id);

CREATE TABLE support.chats (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('open', 'pending', 'snoozed', 'resolved')),
  subject text,
  contact_id uuid NOT NULL,
  contact_name text NOT NULL,
  contact_email text,
  assignee_id uuid,
  -- Messages of agents that the customer has not read, and the other way round.
  customer_unread integer NOT NULL,
  agent_unread integer NOT NULL,
  -- Also the sequence of the last message.
  message_count integer NOT NULL,
  last_message_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX chats_organization_id ON support.chats (organization_id, created_at DESC, id DESC);
CREATE INDEX chats_created_at ON support.chats (created_at DESC, id DESC);
CREATE INDEX tickets_session_id ON support.tickets (organization_id, session_id) WHERE session_id IS NOT NULL;

CREATE TABLE support.messages (
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL REFERENCES support.chats ON DELETE CASCADE,
  sequence integer NOT NULL,
  id uuid NOT NULL UNIQUE,
  direction text NOT NULL CHECK (direction IN ('incoming', 'outgoing')),
  author_id uuid NOT NULL,
  author_name text NOT NULL,
  content text NOT NULL,
  content_type text NOT NULL CHECK (content_type IN ('text', 'markdown')),
  client_message_id text,
  read_at timestamptz,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (session_id, sequence),
  UNIQUE (session_id, direction, client_message_id)
);
