-- Addresses whose requests are spread over several servers.
CREATE TABLE lb.load_balancers (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  name text NOT NULL,
  -- Makes its host name unique, and is no secret.
  host_id text NOT NULL,
  algorithm text NOT NULL,
  -- A port of its own, which no two can have.
  listen_port integer,
  hostnames text[] NOT NULL,
  health_check jsonb NOT NULL,
  sticky_sessions jsonb NOT NULL,
  idle_timeout_seconds integer NOT NULL,
  drain_seconds integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX load_balancers_project_id ON lb.load_balancers (project_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX load_balancers_host_id ON lb.load_balancers (host_id);
CREATE UNIQUE INDEX load_balancers_listen_port ON lb.load_balancers (listen_port);

CREATE TABLE lb.backends (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  load_balancer_id uuid NOT NULL REFERENCES lb.load_balancers ON DELETE CASCADE,
  address text NOT NULL,
  port integer NOT NULL,
  protocol text NOT NULL,
  weight integer NOT NULL,
  max_connections integer NOT NULL,
  enabled boolean NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX backends_address ON lb.backends (load_balancer_id, address, port);
