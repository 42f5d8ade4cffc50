import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "kysely"
import { platform } from "../testing/platform.ts"
import { createReplays } from "./replays.ts"

test("a key whose holder died is free again after a minute, for the same request only", async t => {
  const p = await platform(t)
  const { db } = p.database
  const replays = createReplays(db)
  const nobody = "00000000-0000-0000-0000-000000000000"
  const key = { tenantId: nobody, callerId: nobody, method: "POST", path: "/", idempotencyKey: "one" }
  const [digest, other] = [Buffer.from("same"), Buffer.from("other")]
  const now = p.clock.now()

  const first = await replays.claim(key, digest, now)
  assert.ok(first.state === "claimed")
  assert.deepEqual(await replays.claim(key, digest, now + 59_999), { state: "in_flight" })
  assert.deepEqual(await replays.claim(key, other, now + 60_000), { state: "mismatch" })
  const second = await replays.claim(key, digest, now + 60_000)
  assert.ok(second.state === "claimed")

  // The first comes back late: it neither answers for its successor nor takes the key from it.
  assert.equal(await replays.settle(db, key, first.token, { status: 200, body: "late" }), false)
  await replays.release(key, first.token)
  assert.equal(await replays.settle(db, key, second.token, { status: 200, body: "in time" }), true)
  assert.deepEqual(await replays.claim(key, digest, now + 60_001), {
    state: "done",
    reply: { status: 200, body: "in time", headers: {} },
  })
})

test("what has expired is cleared in steps, and what has not stays", async t => {
  const p = await platform(t)
  const { db } = p.database
  const insert = (count: number, expiresAt: Date) =>
    sql`
      INSERT INTO kernel.replays
        (tenant_id, caller_id, method, path, idempotency_key, digest, token, claimed_until, expires_at)
      SELECT gen_random_uuid(), gen_random_uuid(), 'POST', '/', 'k', '', gen_random_uuid(), now(), ${expiresAt}
      FROM generate_series(1, ${count})`.execute(db)
  const now = p.clock.now()
  await insert(25, new Date(now))
  await insert(3, new Date(now + 1))
  await sql`
    CREATE FUNCTION kernel.count_steps() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE gone integer;
    BEGIN
      SELECT count(*) INTO gone FROM old_rows;
      IF gone > 10 THEN RAISE EXCEPTION 'a step of % rows', gone; END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER count_steps AFTER DELETE ON kernel.replays REFERENCING OLD TABLE AS old_rows
      FOR EACH STATEMENT EXECUTE FUNCTION kernel.count_steps()`.execute(db)

  await createReplays(db).prune(now, 10)

  assert.equal((await db.selectFrom("kernel.replays").select("path").execute()).length, 3)
})
