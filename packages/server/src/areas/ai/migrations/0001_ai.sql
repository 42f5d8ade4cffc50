-- Model servers of organizations, and what AI requests cost.

CREATE TABLE ai.upstreams (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES core.organizations,
  name text NOT NULL,
  base_url text NOT NULL,
  -- Sealed; null where the server takes requests without a key.
  api_key text,
  api_key_hint text,
  models jsonb NOT NULL,
  priority integer NOT NULL,
  weight integer NOT NULL,
  enabled boolean NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX upstreams_name ON ai.upstreams (organization_id, name);

-- Counters of an organization. A nano is a thousand-millionth of a US dollar.
CREATE TABLE ai.accounts (
  organization_id uuid PRIMARY KEY REFERENCES core.organizations,
  monthly_limit_micros bigint,
  -- The month in UTC that `spent_nanos` is of, and the day of `day_requests`.
  month date NOT NULL,
  spent_nanos bigint NOT NULL,
  reserved_nanos bigint NOT NULL,
  day date NOT NULL,
  day_requests bigint NOT NULL
) WITH (fillfactor = 50);

-- One row for a request under way that can cost something.
CREATE TABLE ai.reservations (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  -- What is owed when nothing more is heard of the request.
  input_nanos bigint NOT NULL,
  reserved_nanos bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX reservations_expires_at ON ai.reservations (expires_at);

-- An organization's counters at p_now, locked until the transaction ends.
CREATE FUNCTION ai.lock_account(p_organization uuid, p_now timestamptz) RETURNS ai.accounts LANGUAGE plpgsql AS $$
DECLARE
  v_day date := (p_now AT TIME ZONE 'UTC')::date;
  v_month date := date_trunc('month', p_now AT TIME ZONE 'UTC')::date;
  v_account ai.accounts;
BEGIN
  SELECT * INTO v_account FROM ai.accounts WHERE organization_id = p_organization FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO ai.accounts (organization_id, month, spent_nanos, reserved_nanos, day, day_requests)
    VALUES (p_organization, v_month, 0, 0, v_day, 0)
    ON CONFLICT DO NOTHING;
    SELECT * INTO v_account FROM ai.accounts WHERE organization_id = p_organization FOR UPDATE;
  END IF;
  IF v_account.month < v_month THEN
    v_account.month := v_month;
    v_account.spent_nanos := 0;
  END IF;
  IF v_account.day < v_day THEN
    v_account.day := v_day;
    v_account.day_requests := 0;
  END IF;
  RETURN v_account;
END $$;

-- Reserves for many requests in one commit. A power failure may lose the last half second, a killed process nothing.
-- `p_least`: the smallest amount with which the request is worth sending; `p_daily`: requests a day, null for no limit.
CREATE FUNCTION ai.reserve(
  p_ids uuid[], p_organizations uuid[], p_input bigint[], p_least bigint[], p_most bigint[], p_daily bigint[],
  p_now timestamptz, p_expires_at timestamptz
) RETURNS TABLE (reservation_id uuid, granted bigint, is_limited boolean, refusal text) LANGUAGE plpgsql AS $$
DECLARE
  v_asked record;
  v_account ai.accounts;
  v_left bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  -- In one order, so that two processes never wait for each other.
  FOR v_asked IN
    SELECT * FROM unnest(p_ids, p_organizations, p_input, p_least, p_most, p_daily)
      AS asked (id, organization_id, input, least, most, daily)
    ORDER BY organization_id
  LOOP
    v_account := ai.lock_account(v_asked.organization_id, p_now);
    v_left := v_account.monthly_limit_micros * 1000 - v_account.spent_nanos - v_account.reserved_nanos;
    reservation_id := v_asked.id;
    is_limited := v_left IS NOT NULL;
    granted := CASE WHEN is_limited THEN least(v_asked.most, greatest(v_left, v_asked.least)) ELSE v_asked.most END;
    refusal := CASE
      WHEN v_account.day_requests >= v_asked.daily THEN 'daily'
      WHEN v_left < v_asked.least THEN 'budget'
    END;
    RETURN NEXT;
    CONTINUE WHEN refusal IS NOT NULL;
    UPDATE ai.accounts SET
      month = v_account.month, spent_nanos = v_account.spent_nanos,
      reserved_nanos = v_account.reserved_nanos + granted,
      day = v_account.day, day_requests = v_account.day_requests + 1
    WHERE organization_id = v_asked.organization_id;
    IF granted > 0 THEN
      INSERT INTO ai.reservations (organization_id, id, input_nanos, reserved_nanos, expires_at)
      VALUES (v_asked.organization_id, v_asked.id, least(v_asked.input, granted), granted, p_expires_at);
    END IF;
  END LOOP;
END $$;

-- Ends reservations: what the requests cost is spent, the rest is free again. `p_uncounted`: it was no request at all.
-- Gives the ids whose reservation had expired before.
CREATE FUNCTION ai.settle(
  p_ids uuid[], p_organizations uuid[], p_costs bigint[], p_uncounted boolean[], p_now timestamptz
) RETURNS TABLE (expired_id uuid) LANGUAGE plpgsql AS $$
DECLARE
  v_ended record;
  v_account ai.accounts;
  v_reserved bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  FOR v_ended IN
    SELECT * FROM unnest(p_ids, p_organizations, p_costs, p_uncounted)
      AS ended (id, organization_id, cost, uncounted)
    ORDER BY organization_id
  LOOP
    v_account := ai.lock_account(v_ended.organization_id, p_now);
    DELETE FROM ai.reservations WHERE organization_id = v_ended.organization_id AND id = v_ended.id
    RETURNING reserved_nanos INTO v_reserved;
    IF NOT FOUND THEN
      v_reserved := 0;
      IF v_ended.cost > 0 THEN
        expired_id := v_ended.id;
        RETURN NEXT;
        CONTINUE;
      END IF;
    END IF;
    UPDATE ai.accounts SET
      month = v_account.month, spent_nanos = v_account.spent_nanos + v_ended.cost,
      reserved_nanos = v_account.reserved_nanos - v_reserved,
      day = v_account.day,
      day_requests = greatest(v_account.day_requests - v_ended.uncounted::integer, 0)
    WHERE organization_id = v_ended.organization_id;
  END LOOP;
END $$;

-- Ends what nobody has settled in time, because its process died: the input is owed, as after a cancel.
CREATE FUNCTION ai.expire(p_now timestamptz, p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_ended record;
  v_account ai.accounts;
  v_count integer := 0;
BEGIN
  FOR v_ended IN
    SELECT organization_id, array_agg(id) AS ids
    FROM (SELECT organization_id, id FROM ai.reservations WHERE expires_at <= p_now ORDER BY expires_at LIMIT p_most) AS due
    GROUP BY organization_id ORDER BY organization_id
  LOOP
    v_account := ai.lock_account(v_ended.organization_id, p_now);
    WITH gone AS (
      DELETE FROM ai.reservations
      WHERE organization_id = v_ended.organization_id AND id = ANY (v_ended.ids)
      RETURNING input_nanos, reserved_nanos
    ), total AS (
      SELECT coalesce(sum(input_nanos), 0)::bigint AS owed, coalesce(sum(reserved_nanos), 0)::bigint AS reserved, count(*)::integer AS count
      FROM gone
    ), counted AS (
      UPDATE ai.accounts SET
        month = v_account.month, spent_nanos = v_account.spent_nanos + owed,
        reserved_nanos = v_account.reserved_nanos - reserved,
        day = v_account.day, day_requests = v_account.day_requests
      FROM total WHERE organization_id = v_ended.organization_id
    )
    SELECT v_count + count INTO v_count FROM total;
  END LOOP;
  RETURN v_count;
END $$;
