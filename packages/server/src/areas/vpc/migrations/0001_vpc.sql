-- Private networks: each has a WireGuard gateway on the host that made it.
CREATE TABLE vpc.networks (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  -- The host whose gateway it is.
  host_id uuid NOT NULL,
  name text NOT NULL,
  description text NOT NULL,
  cidr text NOT NULL,
  dns_servers text[] NOT NULL,
  mtu integer NOT NULL,
  region text NOT NULL,
  listen_port integer NOT NULL,
  public_key text NOT NULL,
  -- Sealed.
  private_key text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  UNIQUE (host_id, listen_port)
);
CREATE INDEX networks_project ON vpc.networks (organization_id, project_id, created_at DESC, id DESC);

CREATE TABLE vpc.peers (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  network_id uuid NOT NULL REFERENCES vpc.networks ON DELETE CASCADE,
  name text NOT NULL,
  public_key text NOT NULL,
  address text NOT NULL,
  -- Ranges behind it.
  allowed_ips text[] NOT NULL,
  endpoint text,
  persistent_keepalive_seconds integer NOT NULL,
  dns_servers text[] NOT NULL,
  enabled boolean NOT NULL,
  expires_at timestamptz,
  -- Sealed; null where the caller has it alone, and once it was fetched.
  private_key text,
  config_token_hash bytea,
  config_token_until timestamptz,
  created_at timestamptz NOT NULL,
  UNIQUE (network_id, address),
  UNIQUE (network_id, public_key)
);
CREATE INDEX peers_network ON vpc.peers (organization_id, network_id, created_at DESC, id DESC);
CREATE INDEX peers_expires_at ON vpc.peers (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX peers_config_token_until ON vpc.peers (config_token_until) WHERE config_token_until IS NOT NULL;
