ALTER TABLE domains.domains
  ADD COLUMN certificate_source text CHECK (certificate_source IN ('acme', 'upload')),
  -- Another one after each renewal.
  ADD COLUMN certificate_id uuid,
  ADD COLUMN certificate_not_after timestamptz,
  ADD COLUMN certificate_error text,
  ADD COLUMN certificate_failures integer NOT NULL DEFAULT 0,
  ADD COLUMN certificate_next_at timestamptz;

-- One of a domain. The private key is encrypted with the tenant's key.
CREATE TABLE domains.certificates (
  domain_id uuid PRIMARY KEY REFERENCES domains.domains ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES core.organizations,
  id uuid NOT NULL,
  chain text NOT NULL,
  private_key text NOT NULL,
  created_at timestamptz NOT NULL
);

-- What an authority asks for at /.well-known/acme-challenge/, of whichever process it reaches.
CREATE TABLE domains.challenges (
  domain_id uuid NOT NULL REFERENCES domains.domains ON DELETE CASCADE,
  token text NOT NULL,
  answer text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (domain_id, token)
);
