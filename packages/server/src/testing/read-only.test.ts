/** A read-only key changes no state: asked of every operation it may call, and compared row by row. */
import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { after, before, test } from "node:test"
import { allOperations, isOurs, isWebSocket, type Operation, refusesReadOnly } from "@svc/contract"
import type { OperationName } from "@svc/sdk"
import { sql } from "kysely"
import { everyScope, platform, type TestPlatform } from "./platform.ts"
import { createSampleWorld, type SampleWorld } from "./sample-world.ts"
import { samples } from "./samples.ts"

let p: TestPlatform
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
})
after(() => opened.disposeAsync())

/** What is written about calls, and not by them; and the measured use of tenant databases, which a query counts as use. */
const RECORDS: ReadonlySet<string> = new Set([
  // What a request costs is counted whoever asks.
  "ai.accounts",
  "core.audit_events",
  "core.audit_heads",
  "core.usage_days",
  "core.usage_hours",
  "databases.query_log",
  "databases.query_stats",
  "databases.usage",
])

const tables = async (): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`
    SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
    WHERE table_type = 'BASE TABLE' AND table_schema !~ '^(pg_|information_schema)' ORDER BY 1`.execute(
    p.database.db,
  )
  return rows.map(({ name }) => name).filter(name => !RECORDS.has(name))
}

/** Number and checksum of the rows of every table. */
const fingerprint = async (names: readonly string[]): Promise<Map<string, string>> => {
  const parts = names.map(
    name => sql`SELECT ${name} AS name, count(*) || ':' || coalesce(sum(hashtextextended(row::text, 0)::numeric), 0) AS sum
      FROM ${sql.table(name)} AS row`,
  )
  const { rows } = await sql<{ name: string; sum: string }>`${sql.join(parts, sql` UNION ALL `)}`.execute(
    p.database.db,
  )
  return new Map(rows.map(({ name, sum }) => [name, sum]))
}

/** Programs below this process, without PostgreSQL's own: a query wakes the server of its database. */
const programs = (): Set<string> => {
  const found = new Set<string>()
  const parents = new Set([String(process.pid)])
  const all = readdirSync("/proc").filter(name => /^\d+$/.test(name))
  for (const pid of all.sort((a, b) => Number(a) - Number(b))) {
    try {
      const [, comm = "", parent = ""] =
        /\((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? []
      if (!parents.has(parent)) continue
      parents.add(pid)
      if (comm !== "postgres") found.add(`${pid} ${comm}`)
    } catch {
      // It has ended.
    }
  }
  return found
}

const admitted = allOperations.filter(
  operation =>
    isOurs(operation) &&
    operation.scope !== "public" &&
    operation.scope !== "session" &&
    operation.scope !== "publishable" &&
    operation.scope !== "end-user" &&
    operation.content?.reply !== "sse" &&
    !isWebSocket(operation) &&
    !refusesReadOnly(operation),
)

const inputOf = async (world: SampleWorld, operation: Operation): Promise<Record<string, unknown>> => {
  const sample = samples[operation.name as OperationName]
  if (sample) return sample(world)
  const { organizationId } = await p.tenant(world.tenant)
  const nobody = "00000000-0000-7000-8000-000000000000"
  const named = Object.keys(operation.params?.properties ?? {}).map(field => [
    field,
    field === "tenant_id" ? organizationId : nobody,
  ])
  return { ...operation.example, ...Object.fromEntries(named) }
}

/** What changes while `act` runs. */
const changesIn = async (names: readonly string[], act: () => Promise<unknown>): Promise<string[]> => {
  const [before, running] = [await fingerprint(names), programs()]
  await act()
  const rows = await fingerprint(names)
  const changed = names.filter(name => rows.get(name) !== before.get(name))
  return [...changed, ...[...programs()].filter(program => !running.has(program))]
}

const pause = () => new Promise(resolve => setTimeout(resolve, 300))
const ATTEMPTS = 5

/**
 * What a call with a read-only key changes. Work that samples left behind may end meanwhile, so a change counts only if
 * every repetition has one; what a first call alone would make shows in the project where nothing is made yet.
 */
const changesOf = async (
  world: SampleWorld,
  operation: Operation,
  names: readonly string[],
): Promise<string[]> => {
  const { secret } = await p.key(world.tenant, everyScope, { read_only: true })
  const input = await inputOf(world, operation)
  const call = () =>
    p
      .as(secret)
      .request(operation.name as OperationName, input as never)
      .catch(() => undefined)
  let changed = await changesIn(names, call)
  for (let attempt = 1; changed.length > 0 && attempt < ATTEMPTS; attempt++) {
    while ((await changesIn(names, pause)).length > 0);
    changed = await changesIn(names, call)
  }
  return changed
}

/** An area that is loaded enters its schedules, and the server's own engine of speech starts, whoever called it. */
const loadAreas = async (world: SampleWorld) => {
  const firstOfEach = new Map(admitted.toReversed().map(operation => [operation.area, operation]))
  const speech = admitted.filter(({ name }) => name === "ai.speak")
  for (const operation of [...firstOfEach.values(), ...speech]) {
    const input = await inputOf(world, operation)
    await world.key.request(operation.name as OperationName, input as never).catch(() => undefined)
  }
}

test("a read-only key changes no row and starts no program, whatever it calls in a project where nothing is made yet", async () => {
  const names = await tables()
  const world = await createSampleWorld(p, "empty")
  await loadAreas(world)
  const caller = p.as((await p.key("empty", everyScope, { read_only: true })).secret)
  const wrong: string[] = []
  for (const operation of admitted) {
    if (samples[operation.name as OperationName]) continue
    const input = await inputOf(world, operation)
    const changed = await changesIn(names, () =>
      caller.request(operation.name as OperationName, input as never).catch(() => undefined),
    )
    if (changed.length > 0) wrong.push(`${operation.name} changed ${changed.join(", ")}`)
  }
  assert.deepEqual(wrong, [])
})

test("a read-only key changes no row and starts no program, whatever it calls where things are", async () => {
  const names = await tables()
  const world = await createSampleWorld(p, "full")
  await world.key.sql.execute({ sql: "CREATE TABLE orders (id integer PRIMARY KEY, paid boolean)" })
  await world.key.encryption.encrypt({ plaintext: "hello" })
  await world.key.notifications.webPushKey()
  const wrong: string[] = []
  for (const operation of admitted) {
    const changed = await changesOf(world, operation, names)
    if (changed.length > 0) wrong.push(`${operation.name} changed ${changed.join(", ")}`)
  }
  assert.deepEqual(wrong, [])
})

test("a read-only key in a project without a database is told what makes one, and a key of database:read alone too", async () => {
  for (const scopes of [everyScope, ["database:read"] as const]) {
    const { secret } = await p.key("bare", scopes, { read_only: scopes === everyScope })
    const caller = p.as(secret)
    for (const ask of [() => caller.sql.execute({ sql: "SELECT 1" }), () => caller.schema.get({})]) {
      const error = await ask().then(
        () => undefined,
        (reason: unknown) => reason as { status: number; code: string; message: string },
      )
      assert.deepEqual([error?.status, error?.code], [404, "database_not_provisioned"])
      assert.match(error?.message ?? "", /\/v1\/databases\/provision/)
    }
  }
})
