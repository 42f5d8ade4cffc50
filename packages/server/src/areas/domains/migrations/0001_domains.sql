-- Host names of tenants. Several projects may claim one; it is served for the one that is active.
CREATE TABLE domains.domains (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES core.organizations,
  project_id uuid NOT NULL REFERENCES core.projects,
  domain text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending_verification', 'verifying', 'active', 'failed')),
  -- What the records of this claim hold, and those of no other.
  token text NOT NULL,
  txt_found boolean NOT NULL DEFAULT false,
  cname_found boolean NOT NULL DEFAULT false,
  target_type text,
  -- As the caller named it, and as whoever answers knows it.
  target_id text,
  target_key text,
  site jsonb,
  force_https boolean NOT NULL,
  hsts boolean NOT NULL,
  checking_since timestamptz NOT NULL,
  next_check_at timestamptz,
  last_checked_at timestamptz,
  last_error text,
  verified_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  CHECK ((target_type IS NULL) = (target_id IS NULL) AND (target_type IS NULL) = (target_key IS NULL))
);
CREATE UNIQUE INDEX domains_name ON domains.domains (project_id, domain);
CREATE UNIQUE INDEX domains_active ON domains.domains (domain) WHERE status = 'active';
CREATE INDEX domains_organization ON domains.domains (organization_id);
