-- Work that outlives a request. What is finished is deleted; what failed for good moves to kernel.dead_jobs.
CREATE TABLE kernel.jobs (
  id bigserial PRIMARY KEY,
  queue text COLLATE "C" NOT NULL,
  -- The max UUID (RFC 9562, 5.10) for the platform's own: a walk over all tenants starts at the nil UUID.
  tenant_id uuid NOT NULL,
  -- '-' for none, else '=' and the target: a walk over all targets starts at the empty text.
  target_key text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C",
  dedupe_key text COLLATE "C",
  -- arriving: has an ordering key, and nobody has looked yet whether it is the first of it
  -- held: waits behind the first of its ordering key
  -- scheduled: waits for run_at
  -- ready: may be claimed
  -- running: claimed by worker_id under claim_token
  state text COLLATE "C" NOT NULL,
  priority smallint NOT NULL,
  run_at timestamptz NOT NULL,
  -- The first run_at: attempts do not change it.
  due_at timestamptz NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  worker_id uuid,
  claim_token uuid,
  -- Asked for again while it ran: it starts anew then.
  again_at timestamptz,
  last_error text,
  enqueued_at timestamptz NOT NULL,
  -- Not jsonb, which refuses the null characters that a JSON text may hold.
  payload json NOT NULL
) WITH (
  -- The next version of a row finds a place on its page.
  fillfactor = 70,
  -- Every job leaves two or three dead rows, at any size of the table.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_insert_scale_factor = 0.2,
  autovacuum_analyze_scale_factor = 0.2,
  autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX jobs_ready ON kernel.jobs (queue, tenant_id, target_key, priority, run_at, id) WHERE state = 'ready';
CREATE INDEX jobs_scheduled ON kernel.jobs (queue, run_at) WHERE state = 'scheduled';
CREATE INDEX jobs_running ON kernel.jobs (queue, tenant_id, target_key) WHERE state = 'running';
CREATE INDEX jobs_arriving ON kernel.jobs (queue, id) WHERE state = 'arriving';
CREATE INDEX jobs_held ON kernel.jobs (queue, tenant_id, ordering_key, id) WHERE state = 'held';
-- One at a time of each ordering key.
CREATE UNIQUE INDEX jobs_first ON kernel.jobs (queue, tenant_id, ordering_key)
  WHERE ordering_key IS NOT NULL AND state IN ('scheduled', 'ready', 'running');
CREATE UNIQUE INDEX jobs_dedupe ON kernel.jobs (queue, tenant_id, dedupe_key) WHERE dedupe_key IS NOT NULL;

-- The lease on all jobs of a queue that a process runs: one row to extend, however many they are.
CREATE TABLE kernel.job_workers (
  id uuid NOT NULL,
  queue text COLLATE "C" NOT NULL,
  leased_until timestamptz NOT NULL,
  PRIMARY KEY (id, queue)
) WITH (fillfactor = 50);

CREATE TABLE kernel.dead_jobs (
  id bigint PRIMARY KEY,
  queue text COLLATE "C" NOT NULL,
  tenant_id uuid NOT NULL,
  target_key text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C",
  dedupe_key text COLLATE "C",
  priority smallint NOT NULL,
  attempts integer NOT NULL,
  error text NOT NULL,
  enqueued_at timestamptz NOT NULL,
  died_at timestamptz NOT NULL,
  payload json NOT NULL
);

CREATE INDEX dead_jobs_tenant ON kernel.dead_jobs (queue, tenant_id, id);
CREATE INDEX dead_jobs_died_at ON kernel.dead_jobs (queue, died_at);

-- The functions below turn off what is right for tables that keep their size: a plan made while a queue was empty
-- must not read a million rows one by one when it is full.

-- Whoever decides which jobs of a queue may run holds this lock, so that caps and orders hold across processes.
CREATE FUNCTION kernel.lock_queue(p_queue text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(5763002, hashtext(p_queue))
$$;

-- Makes ready what is due, and finds the first of each ordering key. Under the queue's lock.
CREATE FUNCTION kernel.advance_jobs(p_queue text, p_now timestamptz) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  UPDATE kernel.jobs SET state = 'ready' WHERE id = ANY(ARRAY(
    SELECT id FROM kernel.jobs WHERE queue = p_queue AND state = 'scheduled' AND run_at <= p_now
    ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED));

  IF EXISTS (SELECT FROM kernel.jobs WHERE queue = p_queue AND state = 'arriving') THEN
    WITH arriving AS (
      SELECT id, tenant_id, ordering_key FROM kernel.jobs WHERE queue = p_queue AND state = 'arriving'
      ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), placed AS (
      SELECT a.id,
        row_number() OVER (PARTITION BY a.tenant_id, a.ordering_key ORDER BY a.id) = 1
        AND NOT EXISTS (
          SELECT FROM kernel.jobs f
          WHERE f.queue = p_queue AND f.tenant_id = a.tenant_id AND f.ordering_key = a.ordering_key
            AND f.ordering_key IS NOT NULL AND f.state IN ('scheduled', 'ready', 'running')
        ) AS is_first
      FROM arriving a
    )
    UPDATE kernel.jobs j
    SET state = CASE WHEN NOT p.is_first THEN 'held' WHEN j.run_at <= p_now THEN 'ready' ELSE 'scheduled' END
    FROM placed p WHERE j.id = p.id;
  END IF;
END $$;

-- The next tenants after p_after that have something ready and fewer than p_max running; round and round.
CREATE FUNCTION kernel.claimable_tenants(p_queue text, p_after uuid, p_max integer, p_limit integer)
RETURNS uuid[] LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_found uuid[] := '{}';
  v_at uuid := p_after;
  v_end uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
BEGIN
  FOR v_half IN 1..2 LOOP
    WHILE cardinality(v_found) < p_limit LOOP
      SELECT tenant_id INTO v_at FROM kernel.jobs
      WHERE queue = p_queue AND state = 'ready' AND tenant_id > v_at AND tenant_id <= v_end
      ORDER BY tenant_id LIMIT 1;
      EXIT WHEN NOT FOUND;
      IF p_max IS NULL OR p_max > (
        SELECT count(*) FROM kernel.jobs WHERE queue = p_queue AND state = 'running' AND tenant_id = v_at
      ) THEN
        v_found := v_found || v_at;
      END IF;
    END LOOP;
    v_at := '00000000-0000-0000-0000-000000000000';
    v_end := p_after;
  END LOOP;
  RETURN v_found;
END $$;

-- The same for the targets of one tenant.
CREATE FUNCTION kernel.claimable_targets(
  p_queue text, p_tenant uuid, p_after text, p_max integer, p_limit integer
) RETURNS text[] LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_found text[] := '{}';
  v_at text := p_after;
  -- Sorts after every '-' and '='.
  v_end text := '>';
BEGIN
  FOR v_half IN 1..2 LOOP
    WHILE cardinality(v_found) < p_limit LOOP
      SELECT target_key INTO v_at FROM kernel.jobs
      WHERE queue = p_queue AND state = 'ready' AND tenant_id = p_tenant
        AND target_key > v_at COLLATE "C" AND target_key <= v_end COLLATE "C"
      ORDER BY target_key LIMIT 1;
      EXIT WHEN NOT FOUND;
      IF p_max IS NULL OR p_max > (
        SELECT count(*) FROM kernel.jobs
        WHERE queue = p_queue AND state = 'running' AND tenant_id = p_tenant AND target_key = v_at
      ) THEN
        v_found := v_found || v_at;
      END IF;
    END LOOP;
    v_at := '';
    v_end := p_after;
  END LOOP;
  RETURN v_found;
END $$;

-- Claims up to p_limit jobs: tenants take turns, beginning after p_after, and within a tenant its targets, beginning
-- after p_after_targets[p_after_tenants.indexOf(tenant)]. Losing a claim in a crash costs nothing but another one,
-- so nobody waits until it is on disk.
CREATE FUNCTION kernel.claim_jobs(
  p_queue text, p_now timestamptz, p_limit integer, p_worker uuid, p_token uuid, p_leased_until timestamptz,
  p_tenant_max integer, p_target_max integer, p_after uuid, p_after_tenants uuid[], p_after_targets text[]
) RETURNS SETOF kernel.jobs LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_left integer := p_limit;
  v_before integer;
  v_tenants uuid[];
  v_tenant uuid;
  v_tenant_left integer;
  v_targets text[];
  v_target text;
  v_share integer;
  v_take integer;
  v_claimed integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM kernel.lock_queue(p_queue);
  PERFORM kernel.advance_jobs(p_queue, p_now);
  WHILE v_left > 0 LOOP
    v_before := v_left;
    v_tenants := kernel.claimable_tenants(p_queue, p_after, p_tenant_max, v_left);
    EXIT WHEN cardinality(v_tenants) = 0;
    v_share := ceil(v_left::float8 / cardinality(v_tenants));
    FOREACH v_tenant IN ARRAY v_tenants LOOP
      v_tenant_left := least(v_share, v_left);
      IF p_tenant_max IS NOT NULL THEN
        v_tenant_left := least(v_tenant_left, p_tenant_max - (
          SELECT count(*) FROM kernel.jobs WHERE queue = p_queue AND state = 'running' AND tenant_id = v_tenant));
      END IF;
      v_targets := kernel.claimable_targets(
        p_queue, v_tenant,
        coalesce(p_after_targets[array_position(p_after_tenants, v_tenant)], ''),
        p_target_max, v_tenant_left);
      FOREACH v_target IN ARRAY v_targets LOOP
        EXIT WHEN v_tenant_left <= 0;
        v_take := least(v_tenant_left, ceil(v_share::float8 / cardinality(v_targets)));
        IF p_target_max IS NOT NULL THEN
          v_take := least(v_take, p_target_max - (
            SELECT count(*) FROM kernel.jobs
            WHERE queue = p_queue AND state = 'running' AND tenant_id = v_tenant AND target_key = v_target));
        END IF;
        RETURN QUERY
          UPDATE kernel.jobs
          SET state = 'running', attempts = attempts + 1, worker_id = p_worker, claim_token = p_token
          WHERE id = ANY(ARRAY(
            SELECT id FROM kernel.jobs
            WHERE queue = p_queue AND state = 'ready' AND tenant_id = v_tenant AND target_key = v_target
            ORDER BY priority, run_at, id LIMIT v_take FOR UPDATE SKIP LOCKED))
          RETURNING *;
        GET DIAGNOSTICS v_claimed = ROW_COUNT;
        v_tenant_left := v_tenant_left - v_claimed;
        v_left := v_left - v_claimed;
      END LOOP;
      EXIT WHEN v_left <= 0;
    END LOOP;
    EXIT WHEN v_left = v_before;
  END LOOP;
  IF v_left < p_limit THEN
    INSERT INTO kernel.job_workers (id, queue, leased_until) VALUES (p_worker, p_queue, p_leased_until)
    ON CONFLICT (id, queue) DO UPDATE SET leased_until = excluded.leased_until;
  END IF;
END $$;

-- Writes what became of claimed jobs, and gives those that were still claimed under their token, with their next time
-- if they have one. The kinds are done, dead, retry, again and release (not run at all). What was asked for again
-- meanwhile starts anew.
CREATE FUNCTION kernel.settle_jobs(
  p_queue text, p_now timestamptz, p_ordered boolean,
  p_ids bigint[], p_tokens uuid[], p_kinds text[], p_ats timestamptz[], p_errors text[]
) RETURNS TABLE (job_id bigint, next_at timestamptz) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_gone bigint[];
  v_tenants uuid[];
  v_keys text[];
BEGIN
  IF p_ordered THEN
    PERFORM kernel.lock_queue(p_queue);
  END IF;

  WITH gone AS (
    DELETE FROM kernel.jobs j
    USING unnest(p_ids, p_tokens, p_kinds, p_errors) AS o (id, token, kind, error)
    WHERE j.id = o.id AND j.claim_token = o.token AND o.kind IN ('done', 'dead') AND j.again_at IS NULL
    RETURNING j.*, o.kind, o.error
  ), buried AS (
    INSERT INTO kernel.dead_jobs (id, queue, tenant_id, target_key, ordering_key, dedupe_key, priority, attempts,
      error, enqueued_at, died_at, payload)
    SELECT id, queue, tenant_id, target_key, ordering_key, dedupe_key, priority, attempts,
      coalesce(error, ''), enqueued_at, p_now, payload
    FROM gone WHERE kind = 'dead'
  )
  SELECT array_agg(id), array_agg(tenant_id) FILTER (WHERE ordering_key IS NOT NULL),
    array_agg(ordering_key) FILTER (WHERE ordering_key IS NOT NULL)
  INTO v_gone, v_tenants, v_keys FROM gone;

  IF coalesce(cardinality(v_gone), 0) < cardinality(p_ids) THEN
    -- A statement of its own, because it must see the again_at for which the one before had to wait.
    RETURN QUERY
      UPDATE kernel.jobs j
      SET state = CASE WHEN b.run_at <= p_now THEN 'ready' ELSE 'scheduled' END,
        run_at = b.run_at,
        due_at = CASE WHEN b.is_anew THEN b.run_at ELSE j.due_at END,
        attempts = CASE WHEN b.is_anew THEN 0 WHEN b.kind = 'release' THEN j.attempts - 1 ELSE j.attempts END,
        last_error = CASE WHEN b.is_anew THEN NULL ELSE coalesce(b.error, j.last_error) END,
        worker_id = NULL, claim_token = NULL, again_at = NULL
      FROM (
        SELECT o.id, o.token, o.kind, o.error, coalesce(r.again_at, o.at, r.run_at) AS run_at,
          r.again_at IS NOT NULL OR o.kind = 'again' AS is_anew
        FROM unnest(p_ids, p_tokens, p_kinds, p_ats, p_errors) AS o (id, token, kind, at, error)
        JOIN kernel.jobs r ON r.id = o.id AND r.claim_token = o.token
        FOR UPDATE OF r
      ) b
      WHERE j.id = b.id AND j.claim_token = b.token
      RETURNING j.id, j.run_at;
  END IF;

  IF v_keys IS NOT NULL THEN
    UPDATE kernel.jobs j
    SET state = CASE WHEN j.run_at <= p_now THEN 'ready' ELSE 'scheduled' END
    FROM unnest(v_tenants, v_keys) AS k (tenant_id, ordering_key)
    WHERE j.id = (
      SELECT id FROM kernel.jobs h
      WHERE h.queue = p_queue AND h.tenant_id = k.tenant_id AND h.ordering_key = k.ordering_key AND h.state = 'held'
      ORDER BY id LIMIT 1);
  END IF;

  RETURN QUERY SELECT unnest(v_gone), NULL::timestamptz;
END $$;

-- Gives the jobs of processes that have not been heard of to whoever claims them next; gives their queues.
CREATE FUNCTION kernel.reclaim_jobs(p_now timestamptz) RETURNS SETOF text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  DELETE FROM kernel.job_workers WHERE leased_until <= p_now;
  RETURN QUERY
    WITH freed AS (
      UPDATE kernel.jobs SET state = 'ready', worker_id = NULL, claim_token = NULL,
        last_error = 'the process that ran it ended'
      WHERE id = ANY(ARRAY(
        SELECT j.id FROM kernel.jobs j
        WHERE j.state = 'running'
          AND NOT EXISTS (SELECT FROM kernel.job_workers w WHERE w.id = j.worker_id AND w.queue = j.queue)
        FOR UPDATE OF j SKIP LOCKED))
      RETURNING queue
    )
    SELECT DISTINCT queue FROM freed;
END $$;

-- Frees claims of a process that lives: those whose answer it never got, and those that it gave up. Its lease says
-- nothing of them.
CREATE FUNCTION kernel.free_claims(p_queue text, p_tokens uuid[], p_have_run boolean[]) RETURNS void
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  UPDATE kernel.jobs j
  SET state = 'ready', worker_id = NULL, claim_token = NULL,
    attempts = CASE WHEN l.has_run THEN j.attempts ELSE j.attempts - 1 END
  FROM unnest(p_tokens, p_have_run) AS l (token, has_run)
  WHERE j.queue = p_queue AND j.state = 'running' AND j.claim_token = l.token;
END $$;

-- What waits in these queues, and whether some process has not been heard of.
CREATE FUNCTION kernel.look_for_jobs(p_queues text[], p_now timestamptz)
RETURNS TABLE (queue text, is_ready boolean, next_at timestamptz, has_expired boolean) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  RETURN QUERY
    SELECT q.name,
      EXISTS (SELECT FROM kernel.jobs j WHERE j.queue = q.name AND j.state = 'ready')
        OR EXISTS (SELECT FROM kernel.jobs j WHERE j.queue = q.name AND j.state = 'arriving'),
      (SELECT j.run_at FROM kernel.jobs j WHERE j.queue = q.name AND j.state = 'scheduled' ORDER BY j.run_at LIMIT 1),
      EXISTS (SELECT FROM kernel.job_workers w WHERE w.leased_until <= p_now)
    FROM unnest(p_queues) AS q (name);
END $$;
