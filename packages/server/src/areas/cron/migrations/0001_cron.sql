-- Schedules, and what they ran.

CREATE TABLE cron.schedules (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- The project, or the organization.
  owner_id uuid NOT NULL,
  project_id uuid,
  name text NOT NULL,
  description text NOT NULL,
  cron text,
  interval_seconds integer,
  run_at timestamptz,
  timezone text NOT NULL,
  -- Intervals are counted from here.
  anchor_at timestamptz NOT NULL,
  target_type text NOT NULL,
  -- What runs of several schedules may have in common, such as a host: it gets so many at a time.
  target_key text NOT NULL,
  -- Target and signing secret as sealed JSON: headers hold credentials.
  target text NOT NULL,
  signing_secret_hint text NOT NULL,
  enabled boolean NOT NULL,
  overlap_policy text NOT NULL,
  catchup_policy text NOT NULL,
  catchup_window_seconds integer NOT NULL,
  jitter_seconds integer NOT NULL,
  timeout_seconds integer NOT NULL,
  max_retries integer NOT NULL,
  pause_on_failure boolean NOT NULL,
  start_at timestamptz,
  end_at timestamptz,
  -- The next times, the nearest first; empty while it is paused and once it is completed.
  next_runs timestamptz[] NOT NULL,
  -- The nearest with its jitter: when the scanner must look at this schedule.
  due_at timestamptz,
  last_run_at timestamptz,
  last_status text,
  failure_count integer NOT NULL,
  -- Counts executions, so that the newest are found and the oldest forgotten by an index.
  executions_made bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  CHECK (num_nonnulls(cron, interval_seconds, run_at) = 1)
);
CREATE UNIQUE INDEX schedules_name ON cron.schedules (organization_id, owner_id, name);
CREATE INDEX schedules_due ON cron.schedules (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE cron.executions (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  schedule_id uuid NOT NULL REFERENCES cron.schedules ON DELETE CASCADE,
  number bigint NOT NULL,
  scheduled_for timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  trigger text NOT NULL CHECK (trigger IN ('schedule', 'manual', 'catchup')),
  status text NOT NULL CHECK (
    status IN ('queued', 'running', 'succeeded', 'failed', 'timed_out', 'skipped', 'missed', 'cancelled')
  ),
  attempt integer NOT NULL,
  started_at timestamptz,
  finished_at timestamptz,
  duration_ms integer,
  lag_ms integer,
  status_code integer,
  response_body text,
  error text,
  skip_reason text,
  created_at timestamptz NOT NULL
);
-- A time runs once, whatever process finds it due.
CREATE UNIQUE INDEX executions_tick ON cron.executions (schedule_id, scheduled_for) WHERE trigger <> 'manual';
CREATE UNIQUE INDEX executions_number ON cron.executions (schedule_id, number);
CREATE INDEX executions_unfinished ON cron.executions (schedule_id) WHERE status IN ('queued', 'running');
CREATE INDEX executions_created_at ON cron.executions (created_at);
