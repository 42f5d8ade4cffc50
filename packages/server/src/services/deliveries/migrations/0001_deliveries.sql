-- What happened, in the order in which it did; only added to. Partitions are days of the ids, which are UUIDs of version
-- 7, and go as a whole when they are old.
CREATE TABLE deliveries.messages (
  id uuid PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  tenant_id uuid NOT NULL,
  project_id uuid,
  stream_id uuid NOT NULL,
  type text COLLATE "C" NOT NULL,
  source text,
  topic text,
  at timestamptz NOT NULL,
  -- JSON as it was made: what is sent must be the same bytes every time.
  data text NOT NULL
) PARTITION BY RANGE (id);

CREATE INDEX messages_stream ON deliveries.messages (stream_id, id);

-- What is still owed. A row leaves it with its last attempt.
CREATE TABLE deliveries.pending (
  id uuid PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  tenant_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  message_id uuid NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C",
  -- Null: held behind an earlier one of its ordering key.
  due_at timestamptz,
  -- Of the message's data, so that what is read at once can be bounded.
  bytes integer NOT NULL,
  max_retries smallint NOT NULL,
  attempt_count smallint NOT NULL DEFAULT 0,
  -- Attempts of before it was sent again by hand or replayed: the schedule begins anew after them.
  attempts_from smallint NOT NULL DEFAULT 0,
  -- The attempt with which it ends.
  attempts_max smallint NOT NULL,
  trigger text COLLATE "C" NOT NULL DEFAULT 'scheduled',
  created_at timestamptz NOT NULL,
  -- JSON, one element an attempt.
  attempts text[] NOT NULL DEFAULT '{}'
) WITH (
  fillfactor = 80,
  -- Every delivery leaves a dead row, at any size of the table.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.2,
  autovacuum_analyze_scale_factor = 0.5,
  autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX pending_due ON deliveries.pending (endpoint_id, due_at, id);
CREATE INDEX pending_listed ON deliveries.pending (tenant_id, endpoint_id, id);
CREATE INDEX pending_keys ON deliveries.pending (endpoint_id, ordering_key, id) WHERE ordering_key IS NOT NULL;

-- The log of attempts: deliveries that are over, with all that was tried. Partitioned as the messages are.
CREATE TABLE deliveries.finished (
  id uuid PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  tenant_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  message_id uuid NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C",
  bytes integer NOT NULL,
  max_retries smallint NOT NULL,
  attempt_count smallint NOT NULL,
  status text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  completed_at timestamptz NOT NULL,
  attempts text[] NOT NULL
) PARTITION BY RANGE (id);

CREATE INDEX finished_listed ON deliveries.finished (tenant_id, endpoint_id, id);

-- Both halves of an endpoint's deliveries.
CREATE VIEW deliveries.listed AS
  SELECT id, tenant_id, endpoint_id, message_id, event_type, max_retries, attempt_count,
    CASE WHEN attempt_count = 0 THEN 'pending' ELSE 'retrying' END AS status,
    due_at AS next_attempt_at, created_at, NULL::timestamptz AS completed_at, attempts
  FROM deliveries.pending
  UNION ALL
  SELECT id, tenant_id, endpoint_id, message_id, event_type, max_retries, attempt_count,
    status, NULL, created_at, completed_at, attempts
  FROM deliveries.finished;

-- One row an endpoint: which process sends to it, and how it is doing.
CREATE TABLE deliveries.lanes (
  endpoint_id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL,
  worker_id uuid,
  consecutive_failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  -- Its owner was told that it fails.
  is_warned boolean NOT NULL DEFAULT false,
  blocked_until timestamptz,
  last_delivery_at timestamptz,
  last_success_at timestamptz
) WITH (fillfactor = 50);

-- The lease on all lanes of a process.
CREATE TABLE deliveries.workers (
  id uuid PRIMARY KEY,
  leased_until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The smallest UUID of version 7 of a day.
CREATE FUNCTION deliveries.first_id(p_day date) RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM p_day::timestamp) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Makes the partitions of days. Attached rather than created in place, which would lock the whole table.
CREATE FUNCTION deliveries.add_days(p_from date, p_count integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_table text;
  v_day date;
  v_name text;
BEGIN
  PERFORM pg_advisory_xact_lock(5763003, 1);
  FOREACH v_table IN ARRAY ARRAY['messages', 'finished'] LOOP
    FOR v_offset IN 0..p_count - 1 LOOP
      v_day := p_from + v_offset;
      v_name := v_table || to_char(v_day, '_YYYYMMDD');
      CONTINUE WHEN to_regclass('deliveries.' || v_name) IS NOT NULL;
      EXECUTE format('CREATE TABLE deliveries.%I (LIKE deliveries.%I INCLUDING ALL)', v_name, v_table);
      EXECUTE format('ALTER TABLE deliveries.%I ATTACH PARTITION deliveries.%I FOR VALUES FROM (%L) TO (%L)',
        v_table, v_name, deliveries.first_id(v_day), deliveries.first_id(v_day + 1));
    END LOOP;
  END LOOP;
END $$;

-- Drops the partitions of days before p_day; gives how many.
CREATE FUNCTION deliveries.drop_days(p_day date) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_name text;
  v_count integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(5763003, 1);
  FOR v_name IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN ('deliveries.messages'::regclass, 'deliveries.finished'::regclass)
      AND right(c.relname, 8) < to_char(p_day, 'YYYYMMDD')
  LOOP
    EXECUTE format('DROP TABLE deliveries.%I', v_name);
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$;

-- Takes endpoints that nobody sends to, or whose process has not been heard of; gives those taken.
CREATE FUNCTION deliveries.claim_lanes(
  p_worker uuid, p_now timestamptz, p_endpoints uuid[], p_tenants uuid[], p_kinds text[]
) RETURNS SETOF deliveries.lanes LANGUAGE plpgsql AS $$
BEGIN
  -- Losing a claim in a crash costs nothing but another one.
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
    INSERT INTO deliveries.lanes AS l (endpoint_id, tenant_id, kind, worker_id)
    SELECT e.endpoint_id, e.tenant_id, e.kind, p_worker
    FROM unnest(p_endpoints, p_tenants, p_kinds) AS e (endpoint_id, tenant_id, kind)
    ORDER BY e.endpoint_id
    ON CONFLICT (endpoint_id) DO UPDATE SET worker_id = p_worker
      WHERE l.worker_id IS NULL OR l.worker_id = p_worker OR NOT EXISTS (
        SELECT FROM deliveries.workers w WHERE w.id = l.worker_id AND w.leased_until > p_now)
    RETURNING l.*;
  -- The first of an ordering key may have been held when the process before ended.
  UPDATE deliveries.pending p SET due_at = p_now
  WHERE p.endpoint_id = ANY(p_endpoints) AND p.ordering_key IS NOT NULL AND p.due_at IS NULL
    AND EXISTS (SELECT FROM deliveries.lanes l WHERE l.endpoint_id = p.endpoint_id AND l.worker_id = p_worker)
    AND NOT EXISTS (
      SELECT FROM deliveries.pending e
      WHERE e.endpoint_id = p.endpoint_id AND e.ordering_key = p.ordering_key AND e.id < p.id);
END $$;

-- What is due to endpoints, at most p_limit and about p_bytes of each. Holds back what is not the first of its
-- ordering key, until it is. Called by the one process that has these lanes, and not while it settles ordered ones.
CREATE FUNCTION deliveries.load_due(p_now timestamptz, p_endpoints uuid[], p_limit integer, p_bytes integer)
RETURNS TABLE (id uuid, endpoint_id uuid, ordering_key text, attempt_count smallint, attempts_from smallint,
  attempts_max smallint, trigger text, bytes integer, message_id uuid, tenant_id uuid, project_id uuid,
  type text, source text, topic text, at timestamptz, data text)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  UPDATE deliveries.pending p SET due_at = NULL
  WHERE p.id = ANY(ARRAY(
    SELECT d.id FROM unnest(p_endpoints) AS e (endpoint_id), LATERAL (
      SELECT q.id, q.ordering_key FROM deliveries.pending q
      WHERE q.endpoint_id = e.endpoint_id AND q.due_at <= p_now AND q.ordering_key IS NOT NULL
      ORDER BY q.due_at, q.id LIMIT 10000) AS d
    WHERE EXISTS (
      SELECT FROM deliveries.pending b
      WHERE b.endpoint_id = e.endpoint_id AND b.ordering_key = d.ordering_key AND b.id < d.id)));
  RETURN QUERY
    SELECT d.id, d.endpoint_id, d.ordering_key, d.attempt_count, d.attempts_from, d.attempts_max, d.trigger,
      d.bytes, d.message_id, m.tenant_id, m.project_id, m.type, m.source, m.topic, m.at, m.data
    FROM unnest(p_endpoints) AS e (endpoint_id), LATERAL (
      SELECT p.*, sum(p.bytes) OVER (ORDER BY p.due_at, p.id) - p.bytes AS bytes_before
      FROM (
        SELECT * FROM deliveries.pending q
        WHERE q.endpoint_id = e.endpoint_id AND q.due_at <= p_now AND (q.ordering_key IS NULL OR NOT EXISTS (
          SELECT FROM deliveries.pending b
          WHERE b.endpoint_id = q.endpoint_id AND b.ordering_key = q.ordering_key AND b.id < q.id))
        ORDER BY q.due_at, q.id LIMIT p_limit) AS p
    ) AS d
    LEFT JOIN deliveries.messages m ON m.id = d.message_id
    WHERE d.bytes_before <= p_bytes
    ORDER BY d.due_at, d.id;
END $$;

-- Writes what became of attempts, and how their endpoints are doing; gives the deliveries that were still owed as they
-- were when the attempt began. An attempt is null where none was made.
CREATE FUNCTION deliveries.settle(
  p_worker uuid, p_now timestamptz,
  p_ids uuid[], p_counts smallint[], p_statuses text[], p_dues timestamptz[], p_attempts text[],
  p_lanes uuid[], p_failures integer[], p_since timestamptz[], p_blocked timestamptz[],
  p_delivered timestamptz[], p_succeeded timestamptz[]
) RETURNS SETOF uuid LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_gone uuid[];
  v_endpoints uuid[];
  v_keys text[];
BEGIN
  WITH gone AS (
    DELETE FROM deliveries.pending p
    USING unnest(p_ids, p_counts, p_statuses, p_attempts) AS o (id, count, status, attempt)
    WHERE p.id = o.id AND p.attempt_count = o.count AND o.status <> 'retrying'
    RETURNING p.*, o.status, o.attempt
  ), kept AS (
    INSERT INTO deliveries.finished (id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes,
      max_retries, attempt_count, status, created_at, completed_at, attempts)
    SELECT id, kind, tenant_id, endpoint_id, message_id, event_type, ordering_key, bytes, max_retries,
      CASE WHEN attempt IS NULL THEN attempt_count ELSE attempt_count + 1 END, status, created_at, p_now,
      CASE WHEN attempt IS NULL THEN attempts ELSE array_append(attempts, attempt) END
    FROM gone
  )
  SELECT array_agg(id), array_agg(endpoint_id) FILTER (WHERE ordering_key IS NOT NULL),
    array_agg(ordering_key) FILTER (WHERE ordering_key IS NOT NULL)
  INTO v_gone, v_endpoints, v_keys FROM gone;

  IF 'retrying' = ANY(p_statuses) THEN
    RETURN QUERY
      UPDATE deliveries.pending p
      SET attempt_count = p.attempt_count + 1, due_at = o.due_at, trigger = 'scheduled',
        attempts = array_append(p.attempts, o.attempt)
      FROM unnest(p_ids, p_counts, p_statuses, p_dues, p_attempts) AS o (id, count, status, due_at, attempt)
      WHERE p.id = o.id AND p.attempt_count = o.count AND o.status = 'retrying'
      RETURNING p.id;
  END IF;

  IF v_keys IS NOT NULL THEN
    UPDATE deliveries.pending p SET due_at = p_now
    FROM unnest(v_endpoints, v_keys) AS k (endpoint_id, ordering_key)
    WHERE p.due_at IS NULL AND p.id = (
      SELECT h.id FROM deliveries.pending h
      WHERE h.endpoint_id = k.endpoint_id AND h.ordering_key = k.ordering_key ORDER BY h.id LIMIT 1);
  END IF;

  UPDATE deliveries.lanes l
  SET consecutive_failures = o.failures, failing_since = o.since, blocked_until = o.blocked,
    last_delivery_at = coalesce(o.delivered, l.last_delivery_at),
    last_success_at = coalesce(o.succeeded, l.last_success_at)
  FROM unnest(p_lanes, p_failures, p_since, p_blocked, p_delivered, p_succeeded)
    AS o (endpoint_id, failures, since, blocked, delivered, succeeded)
  WHERE l.endpoint_id = o.endpoint_id AND l.worker_id = p_worker;

  RETURN QUERY SELECT unnest(v_gone);
END $$;

-- One row for each endpoint that has something waiting with a time: the earliest, and who sends to it.
CREATE FUNCTION deliveries.look(p_now timestamptz)
RETURNS TABLE (endpoint_id uuid, tenant_id uuid, kind text, due_at timestamptz, worker_id uuid) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  DELETE FROM deliveries.workers w WHERE w.leased_until <= p_now - interval '1 minute';
  RETURN QUERY
    WITH RECURSIVE e AS (
      (SELECT p.endpoint_id, p.tenant_id, p.kind, p.due_at FROM deliveries.pending p
       ORDER BY p.endpoint_id, p.due_at, p.id LIMIT 1)
      UNION ALL
      SELECT n.* FROM e, LATERAL (
        SELECT p.endpoint_id, p.tenant_id, p.kind, p.due_at FROM deliveries.pending p
        WHERE p.endpoint_id > e.endpoint_id ORDER BY p.endpoint_id, p.due_at, p.id LIMIT 1) AS n
    )
    SELECT e.endpoint_id, e.tenant_id, e.kind, e.due_at, w.id
    FROM e LEFT JOIN deliveries.lanes l ON l.endpoint_id = e.endpoint_id
      LEFT JOIN deliveries.workers w ON w.id = l.worker_id AND w.leased_until > p_now
    WHERE e.due_at <= p_now;
END $$;
