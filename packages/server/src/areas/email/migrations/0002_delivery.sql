-- Domains that organizations send from.
CREATE TABLE email.domains (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- ASCII, lower case.
  domain text NOT NULL,
  return_path text NOT NULL,
  tracking_subdomain text NOT NULL,
  ownership_token text NOT NULL,
  dkim_selector text NOT NULL,
  -- Base64 of the SubjectPublicKeyInfo.
  dkim_public_key text NOT NULL,
  -- Sealed PKCS #8.
  dkim_private_key text NOT NULL,
  status text NOT NULL CHECK (status IN ('not_started', 'pending', 'verified', 'partially_verified', 'failed')),
  -- What the last check found: by record, `{status, found, error}`.
  findings jsonb NOT NULL,
  ownership_proven boolean NOT NULL,
  -- The first check of the present search for the records; checks end three days later.
  checking_since timestamptz NOT NULL,
  checks integer NOT NULL,
  last_checked_at timestamptz,
  next_check_at timestamptz,
  verified_at timestamptz,
  created_at timestamptz NOT NULL,
  UNIQUE (organization_id, domain)
);
-- Whoever proves the ownership has the domain; unproven claims stand in nobody's way.
CREATE UNIQUE INDEX domains_owner ON email.domains (domain) WHERE ownership_proven;

CREATE TABLE email.settings (
  organization_id uuid PRIMARY KEY,
  from_email text,
  from_name text,
  reply_to text,
  mode text NOT NULL CHECK (mode IN ('provider', 'relay', 'direct')),
  relay_host text,
  relay_port integer,
  relay_security text CHECK (relay_security IN ('starttls', 'tls', 'none')),
  relay_username text,
  -- Sealed.
  relay_password text,
  max_per_second integer NOT NULL,
  own_domain_delivery_enabled boolean NOT NULL,
  -- Mails before this time no longer count against the organization.
  enabled_at timestamptz,
  paused_at timestamptz,
  paused_reason text CHECK (paused_reason IN ('bounce_rate', 'complaint_rate')),
  default_domain_id uuid REFERENCES email.domains ON DELETE SET NULL,
  track_opens boolean NOT NULL,
  track_clicks boolean NOT NULL,
  suppress_hard_bounce boolean NOT NULL,
  suppress_complaint boolean NOT NULL,
  updated_at timestamptz NOT NULL
);

-- Addresses that get no mail.
CREATE TABLE email.suppression (
  organization_id uuid NOT NULL,
  -- Lower case.
  address text NOT NULL,
  reason text NOT NULL CHECK (reason IN ('hard_bounce', 'complaint', 'unsubscribe', 'manual')),
  origin text NOT NULL CHECK (origin IN ('recipient', 'admin', 'system')),
  source_email_id uuid,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, address)
);
CREATE INDEX suppression_newest ON email.suppression (organization_id, created_at DESC, address);

-- Signs the links and return paths of an organization's mails.
CREATE TABLE email.signing_keys (
  organization_id uuid PRIMARY KEY,
  -- Sealed.
  secret text NOT NULL,
  created_at timestamptz NOT NULL
);

CREATE INDEX events_recipient ON email.events (organization_id, lower(recipient), created_at DESC);
