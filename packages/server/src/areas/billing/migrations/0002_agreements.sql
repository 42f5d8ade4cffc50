CREATE TABLE billing.agreements (
  organization_id uuid NOT NULL,
  -- A service, `infrastructure` or `glitch-tracker`.
  module text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  terms_version text NOT NULL,
  accepted_at timestamptz NOT NULL,
  accepted_by text NOT NULL,
  disabled_at timestamptz,
  -- Null: use is not charged as it happens.
  autodebit_since timestamptz,
  PRIMARY KEY (organization_id, module)
);
CREATE INDEX agreements_autodebit ON billing.agreements (organization_id) WHERE autodebit_since IS NOT NULL;

-- What of a month's cost of a meter is charged already, or was used before it is charged.
CREATE TABLE billing.charged (
  organization_id uuid NOT NULL,
  month date NOT NULL,
  metric text COLLATE "C" NOT NULL,
  cost_micros bigint NOT NULL,
  PRIMARY KEY (organization_id, month, metric)
);

CREATE TABLE billing.feedback (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  reason text NOT NULL,
  comment text NOT NULL,
  would_return boolean,
  created_at timestamptz NOT NULL
);
