-- Answers kept for 24 hours under their Idempotency-Key.
CREATE TABLE kernel.replays (
  tenant_id uuid NOT NULL,
  caller_id uuid NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  idempotency_key text NOT NULL,
  digest bytea NOT NULL,
  -- Names the request that holds the key, so that one which came back late cannot answer for its successor.
  token uuid NOT NULL,
  claimed_until timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  status integer,
  -- Not jsonb, which refuses the null characters that a JSON text may hold.
  headers json,
  body json,
  PRIMARY KEY (tenant_id, caller_id, method, path, idempotency_key)
);

CREATE INDEX replays_expires_at ON kernel.replays (expires_at);
