import assert from "node:assert/strict"
import { execFile, spawnSync } from "node:child_process"
import { test } from "node:test"
import { promisify } from "node:util"
import fc from "fast-check"
import { newId } from "../../kernel/id.ts"
import type { Hold } from "./ledger.ts"
import { kept, type LedgerProcess, ledgerWorld, pending, recomputed } from "./testing/world.ts"

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

const now = ({ clock }: Pick<LedgerProcess, "clock">) => new Date(clock.now())

const ask = (organizationId: string, leastMicros: number, options: object = {}) => ({
  ...{ organizationId, reference: `test:${newId()}`, leastMicros, mostMicros: leastMicros, owedMicros: 0 },
  ...{ description: "a test", lastsMs: 10 * MINUTE_MS },
  ...options,
})

const add = (
  p: Pick<LedgerProcess, "clock" | "ledger" | "database">,
  organizationId: string,
  amountMicros: number,
  options: object = {},
) =>
  p.ledger.addCredit(
    p.database.db,
    {
      ...{ organizationId, amountMicros, reference: `grant:${newId()}`, kind: "paid", expiresAt: null },
      ...{ description: "", ...options },
    },
    now(p),
  )

const charge = (
  p: Pick<LedgerProcess, "clock" | "ledger" | "database">,
  organizationId: string,
  micros: number,
) =>
  p.ledger.charge(
    p.database.db,
    { ...ask(organizationId, micros), amountMicros: micros, isPartial: false },
    now(p),
  )

test("a hold takes credit from others at once, and its end charges the cost and frees the rest", async t => {
  const world = await ledgerWorld(t)
  const { ledger, database, organizationId } = world
  await add(world, organizationId, 100)
  const hold = await ledger.hold(ask(organizationId, 70))
  await assert.rejects(ledger.hold(ask(organizationId, 31)), { code: "credits_exhausted" })
  hold.post(20)
  hold.post(50)
  await ledger.settled()
  assert.deepEqual(await kept(database, organizationId), { cash: -100, credit: 80, revenue: 20 })
  ;(await ledger.hold(ask(organizationId, 80))).void()
  await ledger.settled()
  assert.deepEqual(await pending(database, organizationId), { held: 0, holds: 0, lots: 80, credit: 80 })
})

test("of a hundred spenders at once as many succeed as there is credit for, whichever process they ask", async t => {
  const world = await ledgerWorld(t, 3)
  const { database, organizationId, processes } = world
  await add(world, organizationId, 7)
  const attempts = Array.from({ length: 100 }, async (_, n) => {
    const process = processes[n % processes.length] ?? world
    if (n % 2 === 0) return (await charge(process, organizationId, 1)).refusal === null
    try {
      ;(await process.ledger.hold(ask(organizationId, 1))).post(1)
      return true
    } catch {
      return false
    }
  })
  const succeeded = (await Promise.all(attempts)).filter(Boolean).length
  await Promise.all(processes.map(({ ledger }) => ledger.settled()))
  assert.equal(succeeded, 7)
  assert.deepEqual(await kept(database, organizationId), { cash: -7, revenue: 7 })
})

test("the same reference moves money once, however often and wherever it is asked for", async t => {
  const world = await ledgerWorld(t, 2)
  const { database, organizationId, processes } = world
  const both = Array.from({ length: 20 }, (_, n) => processes[n % 2] ?? world)
  const added = await Promise.all(
    both.map(process => add(process, organizationId, 50, { reference: "payment:1" })),
  )
  assert.equal(added.filter(Boolean).length, 1)
  const charges = both.map(({ ledger, database: { db } }) =>
    ledger.charge(
      db,
      { organizationId, reference: "usage:1", amountMicros: 30, isPartial: false, description: "" },
      now(world),
    ),
  )
  for (const { chargedMicros } of await Promise.all(charges)) assert.equal(chargedMicros, 30)
  assert.deepEqual(await kept(database, organizationId), { cash: -50, credit: 20, revenue: 30 })
})

test("what expires first is spent first, then what was given, then what was paid; the rest expires on its day", async t => {
  const world = await ledgerWorld(t)
  const { clock, database, ledger, organizationId } = world
  const inDays = (days: number) => new Date(clock.now() + days * DAY_MS)
  await add(world, organizationId, 10)
  await add(world, organizationId, 10, { kind: "promotional" })
  await add(world, organizationId, 10, { kind: "promotional", expiresAt: inDays(30) })
  await add(world, organizationId, 10, { kind: "paid", expiresAt: inDays(3) })
  const left = async () => {
    const { rows } = await database.pool.query<{ left_micros: number }>(
      "SELECT left_micros FROM ledger.lots ORDER BY id",
    )
    return rows.map(row => row.left_micros)
  }
  await charge(world, organizationId, 4)
  assert.deepEqual(await left(), [10, 10, 10, 6])
  const hold = await ledger.hold(ask(organizationId, 33))
  await clock.advance(4 * DAY_MS)
  // Three of the six that are over are free; the others are held.
  assert.equal((await ledger.read(database.db).wallet(organizationId, now(world)))?.credit_micros, 33)
  hold.post(13)
  await ledger.settled()
  assert.deepEqual(await left(), [10, 10, 0, 0])
  await charge(world, organizationId, 15)
  assert.deepEqual(await left(), [5, 0, 0, 0])
  assert.deepEqual(await recomputed(database, organizationId), await kept(database, organizationId))
})

test("overage serves beyond the credit up to its limit, and the next payment pays it first", async t => {
  const world = await ledgerWorld(t)
  const { database, ledger, organizationId } = world
  await add(world, organizationId, 10)
  await ledger.read(database.db).limit(organizationId, { overage_limit_micros: 20 }, now(world))
  const hold = await ledger.hold(ask(organizationId, 25))
  await assert.rejects(ledger.hold(ask(organizationId, 6)), { code: "credits_exhausted" })
  hold.post(25)
  await ledger.settled()
  assert.deepEqual(await kept(database, organizationId), { cash: -10, overage: -15, revenue: 25 })
  await add(world, organizationId, 40)
  assert.deepEqual(await kept(database, organizationId), { cash: -50, credit: 25, revenue: 25 })
})

test("the cap of a month stops holds and charges before they are made, and a new month begins with nothing", async t => {
  const world = await ledgerWorld(t)
  const { clock, database, ledger, organizationId } = world
  await add(world, organizationId, 1_000)
  const { limit } = ledger.read(database.db)
  await limit(organizationId, { cap_micros: 50 }, now(world))
  const hold = await ledger.hold(ask(organizationId, 40))
  await assert.rejects(ledger.hold(ask(organizationId, 20)), { code: "spending_cap_reached" })
  hold.post(40)
  await ledger.settled()
  assert.equal((await charge(world, organizationId, 11)).refusal, "cap")
  assert.equal((await charge(world, organizationId, 10)).refusal, null)
  await limit(organizationId, { cap_action: "notify" }, now(world))
  assert.equal((await charge(world, organizationId, 100)).refusal, null)
  await limit(organizationId, { cap_action: "stop" }, now(world))
  await clock.advance(32 * DAY_MS)
  assert.equal((await charge(world, organizationId, 50)).refusal, null)
})

test("a hold of a process that died ends at its time, charged by what was owed; its late cost is not charged twice", async t => {
  const world = await ledgerWorld(t, 2)
  const { clock, database, ledger, organizationId } = world
  await add(world, organizationId, 100)
  const asked = ask(organizationId, 60, { owedMicros: 5 })
  const hold = await ledger.hold(asked)
  await clock.advance(9 * MINUTE_MS)
  assert.equal(await ledger.expire(), 0)
  await clock.advance(2 * MINUTE_MS)
  assert.equal(await ledger.expire(), 1)
  assert.deepEqual(await kept(database, organizationId), { cash: -100, credit: 95, revenue: 5 })
  hold.post(50)
  await ledger.settled()
  assert.deepEqual(await kept(database, organizationId), { cash: -100, credit: 95, revenue: 5 })
  assert.deepEqual(await pending(database, organizationId), { held: 0, holds: 0, lots: 95, credit: 95 })
})

const hasPsql = spawnSync("psql", ["--version"]).status === 0
const BALANCES = `
  SELECT account, sum(amount) FROM (
    SELECT debit_account AS account, -amount_micros AS amount FROM ledger.transfers
    UNION ALL SELECT credit_account, amount_micros FROM ledger.transfers) AS sides
  GROUP BY account ORDER BY account`

test("psql finds the balances by adding up the transfers", {
  skip: !hasPsql && "psql is missing",
}, async t => {
  const world = await ledgerWorld(t)
  await add(world, world.organizationId, 100)
  await add(world, world.organizationId, 7, { kind: "promotional" })
  await charge(world, world.organizationId, 30)
  const { stdout } = await promisify(execFile)("psql", [world.url, "-X", "-A", "-t", "-c", BALANCES])
  assert.deepEqual(stdout.trim().split("\n"), ["cash|-100", "credit|77", "grants|-7", "revenue|30"])
})

test("a transfer cannot be changed, deleted or emptied away, whoever asks the database", async t => {
  const world = await ledgerWorld(t)
  const { database, organizationId } = world
  await add(world, organizationId, 10)
  for (const statement of [
    "UPDATE ledger.transfers SET amount_micros = 20",
    "DELETE FROM ledger.transfers",
    "TRUNCATE ledger.transfers",
  ])
    await assert.rejects(database.pool.query(statement), /transfers do not change/)
  await assert.rejects(database.pool.query("UPDATE ledger.wallets SET credit_micros = 11"), /sum_is_zero/)
})

type Step =
  | { readonly do: "add"; readonly amount: number; readonly days: number | null; readonly paid: boolean }
  | { readonly do: "hold"; readonly least: number; readonly most: number }
  | { readonly do: "end"; readonly which: number; readonly cost: number }
  | { readonly do: "charge"; readonly amount: number; readonly partial: boolean }
  | { readonly do: "wait"; readonly minutes: number }
  | { readonly do: "limit"; readonly overage: number | null; readonly cap: number | null }

const amount = fc.integer({ min: 1, max: 1_000 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("add" as const),
    amount,
    days: fc.option(fc.integer({ min: 1, max: 3 })),
    paid: fc.boolean(),
  }),
  fc.record({ do: fc.constant("hold" as const), least: fc.integer({ min: 0, max: 300 }), most: amount }),
  fc.record({ do: fc.constant("end" as const), which: fc.nat(20), cost: fc.integer({ min: 0, max: 1_200 }) }),
  fc.record({ do: fc.constant("charge" as const), amount, partial: fc.boolean() }),
  fc.record({ do: fc.constant("wait" as const), minutes: fc.integer({ min: 1, max: 2_000 }) }),
  fc.record({
    do: fc.constant("limit" as const),
    overage: fc.option(amount),
    cap: fc.option(fc.integer({ min: 0, max: 2_000 })),
  }),
)

test("whatever is done in whatever order and at the same time, the accounts sum to zero and none is overdrawn", async t => {
  const world = await ledgerWorld(t, 2)
  const { clock, database, processes } = world

  const perform = async (asked: Step, at: number, organizationId: string, open: Hold[]) => {
    const process = processes[at % 2] ?? world
    if (asked.do === "add")
      await add(process, organizationId, asked.amount, {
        kind: asked.paid ? "paid" : "promotional",
        expiresAt: asked.days === null ? null : new Date(clock.now() + asked.days * DAY_MS),
      })
    else if (asked.do === "hold")
      await process.ledger
        .hold(
          ask(organizationId, Math.min(asked.least, asked.most), { mostMicros: asked.most, owedMicros: 3 }),
        )
        .then(hold => open.push(hold))
        .catch(error => assert.match(error.code, /^(credits_exhausted|spending_cap_reached)$/))
    else if (asked.do === "end") open.splice(asked.which % (open.length + 1), 1)[0]?.post(asked.cost)
    else if (asked.do === "charge")
      await process.ledger.charge(
        process.database.db,
        {
          ...{ organizationId, reference: `test:${newId()}`, amountMicros: asked.amount },
          ...{ isPartial: asked.partial, description: "" },
        },
        now(world),
      )
    else if (asked.do === "wait") {
      await clock.advance(asked.minutes * MINUTE_MS)
      await process.ledger.expire()
    } else
      await process.ledger
        .read(process.database.db)
        .limit(organizationId, { overage_limit_micros: asked.overage, cap_micros: asked.cap }, now(world))
  }

  const check = async (organizationId: string) => {
    await Promise.all(processes.map(({ ledger }) => ledger.settled()))
    const balances = await kept(database, organizationId)
    assert.deepEqual(balances, await recomputed(database, organizationId))
    assert.equal(
      Object.values(balances).reduce((sum, balance) => sum + balance, 0),
      0,
    )
    for (const account of ["credit", "revenue", "expired"]) assert.ok((balances[account] ?? 0) >= 0, account)
    const { held, holds, lots, credit } = await pending(database, organizationId)
    assert.equal(held, holds)
    assert.equal(lots, credit)
  }

  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 8 }), async rounds => {
      const organizationId = newId()
      const open: Hold[] = []
      for (const steps of rounds) {
        // The steps of a round run at the same time, in two processes.
        await Promise.all(steps.map((asked, at) => perform(asked, at, organizationId, open)))
        await check(organizationId)
      }
    }),
    { numRuns: 40 },
  )
})
