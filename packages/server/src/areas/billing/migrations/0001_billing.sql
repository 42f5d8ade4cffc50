CREATE TABLE billing.payments (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  plan text COLLATE "C",
  plan_interval text COLLATE "C",
  provider text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  amount_micros bigint NOT NULL CHECK (amount_micros > 0),
  currency text COLLATE "C" NOT NULL,
  email text,
  success_url text,
  cancel_url text,
  invoice_id uuid,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  completed_at timestamptz,
  -- Key or person of the operator.
  confirmed_by text
);
CREATE INDEX payments_listed ON billing.payments (organization_id, id);

CREATE TABLE billing.invoices (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  number text COLLATE "C" NOT NULL UNIQUE,
  status text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  subtotal_micros bigint NOT NULL,
  credits_applied_micros bigint NOT NULL DEFAULT 0,
  tax_micros bigint NOT NULL DEFAULT 0,
  total_micros bigint NOT NULL,
  amount_paid_micros bigint NOT NULL DEFAULT 0,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  issued_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  paid_at timestamptz,
  attempt_count integer NOT NULL DEFAULT 0,
  next_retry_at timestamptz,
  -- JSON. An invoice keeps its prices, its seller and its buyer, whatever they are called later.
  lines text NOT NULL,
  seller text NOT NULL,
  buyer text NOT NULL,
  plan text COLLATE "C",
  plan_interval text COLLATE "C",
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX invoices_open ON billing.invoices (next_retry_at) WHERE status = 'open';

-- The last number of a series. Its row is locked until the invoice is committed, so that there are no gaps.
CREATE TABLE billing.series (
  name text COLLATE "C" PRIMARY KEY,
  last bigint NOT NULL
);

CREATE TABLE billing.subscriptions (
  organization_id uuid PRIMARY KEY,
  plan text COLLATE "C" NOT NULL,
  plan_interval text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  cancel_at_period_end boolean NOT NULL DEFAULT false,
  invoice_id uuid
);
CREATE INDEX subscriptions_end ON billing.subscriptions (period_end);
