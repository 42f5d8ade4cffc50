/** A bank under load: transfers whose sum never changes, and a journal of what the clients were told is committed. */
import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"
import type { Subject } from "../../../conformance/fixture.ts"
import { DATABASE_NAME, type EnginePort, OWNER_ROLE } from "../../../port.ts"
import { asAdmin } from "../admin.ts"
import { sharedTemplates } from "../testing/engine.ts"

const ACCOUNTS = 200
const OPENING_BALANCE = 1_000
const WRITERS = 6
/** Writer `w` gives its transfers the numbers from `w * IDS_PER_WRITER` on. */
const IDS_PER_WRITER = 10_000_000
const RETRY_MS = 20

/** Mulberry32: 32 bits of state are enough to choose accounts. */
export const randomFrom = (seed: number) => {
  let state = seed | 0
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A seed of the run's own, unless one is given to repeat it. */
export const chooseSeed = (): number =>
  Number(process.env.SVC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

export const connectAs = async (port: EnginePort, { ref, credentials }: Subject): Promise<pg.Client> => {
  const endpoint = await port.wake(ref)
  const client = new pg.Client({
    ...{ host: endpoint.host, port: endpoint.port, user: OWNER_ROLE, password: credentials.owner },
    ...{ database: DATABASE_NAME, ssl: false, connectionTimeoutMillis: 10_000 },
  })
  client.on("error", () => undefined)
  await client.connect()
  return client
}

/** What the clients know. Both lists grow in the order of events. */
export interface Journal {
  /** Numbers of transfers whose first statement was sent. */
  readonly sent: readonly number[]
  /** Numbers of transfers whose commit was acknowledged. */
  readonly acknowledged: readonly number[]
}

/** How far a journal was at a moment. */
export interface Mark {
  readonly sent: number
  readonly acknowledged: number
}

export const markOf = ({ sent, acknowledged }: Journal): Mark => ({
  sent: sent.length,
  acknowledged: acknowledged.length,
})

export const openBank = async (port: EnginePort, subject: Subject): Promise<void> => {
  const client = await connectAs(port, subject)
  await client.query(`
    CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL, note text NOT NULL DEFAULT '');
    CREATE TABLE journal (
      id bigint PRIMARY KEY, payer int NOT NULL, payee int NOT NULL, amount bigint NOT NULL,
      at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX ON journal (payer, payee);
    CREATE INDEX ON accounts (balance);
    INSERT INTO accounts (id, balance) SELECT n, ${OPENING_BALANCE} FROM generate_series(1, ${ACCOUNTS}) n`)
  await client.end()
}

const transfer = async (client: pg.Client, random: () => number, id: number): Promise<void> => {
  const payer = 1 + Math.floor(random() * ACCOUNTS)
  const payee = 1 + ((payer + Math.floor(random() * (ACCOUNTS - 1))) % ACCOUNTS)
  const amount = Math.floor(random() * 50)
  // Always the lower number first, so that no two transfers wait for each other.
  const steps = (
    [
      [payer, -amount],
      [payee, amount],
    ] as const
  ).toSorted(([one], [other]) => one - other)
  await client.query("BEGIN")
  await client.query("INSERT INTO journal (id, payer, payee, amount) VALUES ($1, $2, $3, $4)", [
    ...[id, payer, payee, amount],
  ])
  for (const [account, change] of steps)
    await client.query("UPDATE accounts SET balance = balance + $2, note = md5(id::text) WHERE id = $1", [
      ...[account, change],
    ])
  await client.query("COMMIT")
}

export interface BankLoad {
  readonly journal: Journal
  /** Errors that clients saw. They connect again after each. */
  readonly errors: readonly unknown[]
  /** Resolves when so many more transfers were acknowledged. */
  more(count: number): Promise<void>
  /** Resolves when every client has stopped. */
  stop(): Promise<void>
}

/** Several clients that transfer random amounts, and come back after whatever happens to the server. */
export const startTransfers = (
  port: EnginePort,
  subject: Subject,
  options: { readonly seed: number; readonly firstId?: number; readonly writers?: number },
): BankLoad => {
  const { seed, firstId = 0, writers = WRITERS } = options
  const sent: number[] = []
  const acknowledged: number[] = []
  const errors: unknown[] = []
  let stopped = false

  const session = async (random: () => number, ids: { next: number }) => {
    const client = await connectAs(port, subject)
    try {
      while (!stopped) {
        const id = ids.next++
        sent.push(id)
        await transfer(client, random, id)
        acknowledged.push(id)
      }
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const write = async (writer: number) => {
    const random = randomFrom(seed + writer)
    const ids = { next: writer * IDS_PER_WRITER + firstId }
    while (!stopped) {
      await session(random, ids).catch(async error => {
        errors.push(error)
        await delay(RETRY_MS)
      })
    }
  }
  const finished = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer + 1)))
  return {
    journal: { sent, acknowledged },
    errors,
    async more(count) {
      const wanted = acknowledged.length + count
      // PostgreSQL may wait a minute for its checkpointer (RequestCheckpoint) before it starts anew.
      const deadline = performance.now() + 180_000
      while (acknowledged.length < wanted) {
        assert.ok(performance.now() < deadline, `no ${count} transfers in three minutes; ${errors.at(-1)}`)
        await delay(5)
      }
    },
    async stop() {
      stopped = true
      await finished
    },
  }
}

const BALANCES_THAT_DIFFER = `
  SELECT a.id FROM accounts a WHERE a.balance <> ${OPENING_BALANCE}
    + coalesce((SELECT sum(amount) FROM journal WHERE payee = a.id), 0)
    - coalesce((SELECT sum(amount) FROM journal WHERE payer = a.id), 0)`

/** `heapallindexed`: that no row is missing from an index, too. */
const BROKEN_INDEXES = `
  SELECT svc_internal.bt_index_check(c.oid, true) FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
  WHERE a.amname = 'btree' AND c.relpersistence = 'p' AND i.indisvalid AND i.indisready`

const BROKEN_TABLES = `
  SELECT c.oid::regclass AS name, v.msg FROM pg_class c, svc_internal.verify_heapam(c.oid) v
  WHERE c.relkind IN ('r', 't', 'm') AND c.relpersistence = 'p'`

export const adminPassword = async (): Promise<string> =>
  readFile(join(await sharedTemplates(), "admin.secret"), "utf8")

/** Throws unless every page, index and balance is right. Returns the numbers of the transfers that are there. */
export const auditBank = async (port: EnginePort, { ref }: Subject): Promise<ReadonlySet<number>> => {
  const { host: socketDir } = await port.wake(ref)
  const tenant = { database: DATABASE_NAME, version: ref.pgVersion }
  return asAdmin({ socketDir, password: await adminPassword(), tenant }, async client => {
    const { rows: sums } = await client.query("SELECT sum(balance)::int AS sum FROM public.accounts")
    assert.equal(sums[0].sum, ACCOUNTS * OPENING_BALANCE, "money was made or lost")
    await client.query("SET search_path = public, pg_catalog")
    assert.deepEqual((await client.query(BALANCES_THAT_DIFFER)).rows, [], "balances without their transfers")
    await client.query(BROKEN_INDEXES)
    assert.deepEqual((await client.query(BROKEN_TABLES)).rows, [])
    const { rows } = await client.query("SELECT id FROM journal")
    return new Set(rows.map(({ id }) => Number(id)))
  })
}

const shown = (ids: readonly number[]) => `${ids.length}: ${ids.slice(0, 10).join(", ")}`

/** What was acknowledged at `before` is there, and nothing that was begun only after `after`. */
export const assertHolds = (
  found: ReadonlySet<number>,
  journal: Journal,
  { before, after }: { readonly before: Mark; readonly after?: Mark },
): void => {
  const lost = journal.acknowledged.slice(0, before.acknowledged).filter(id => !found.has(id))
  assert.equal(lost.length, 0, `acknowledged transfers are missing, ${shown(lost)}`)
  const early = after ? journal.sent.slice(after.sent).filter(id => found.has(id)) : []
  assert.equal(early.length, 0, `transfers from after the point are there, ${shown(early)}`)
}
