/** How many charges a second pass the ledger, beside the least that a database does for one: two statements that lock a row. */
import { rmSync } from "node:fs"
import { performance } from "node:perf_hooks"
import pg from "pg"
import { systemClock } from "../../packages/server/src/kernel/clock.ts"
import { openDatabase } from "../../packages/server/src/kernel/db/database.ts"
import { startEmbeddedPostgres } from "../../packages/server/src/kernel/db/embedded/start.ts"
import { migrate } from "../../packages/server/src/kernel/db/migrate.ts"
import { newId } from "../../packages/server/src/kernel/id.ts"
import { createLog } from "../../packages/server/src/kernel/log.ts"
import { migrationSources } from "../../packages/server/src/migration-sources.ts"
import { createLedger } from "../../packages/server/src/services/ledger/ledger.ts"
import { type Part, printFigures } from "./figures.ts"
import { makeDataDir } from "./platform.ts"

const CONNECTIONS = 4
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
/** Callers that wait for their hold before they ask for the next one. */
const CALLERS = 256
const CREDIT_MICROS = 1_000_000_000_000

/** Each of the callers does it again and again; gives how often a second all together. */
const perSecond = async (callers: number, act: (caller: number) => Promise<void>): Promise<number> => {
  const from = performance.now()
  let count = 0
  const turns = Array.from({ length: callers }, async (_, caller) => {
    while (performance.now() - from < SECONDS * 1000) {
      await act(caller)
      count++
    }
  })
  await Promise.all(turns)
  return Math.round((count * 1000) / (performance.now() - from))
}

/** One row and its lock for a charge, and a line that says so. */
const bare = async (url: string) => {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  await pool.query("CREATE TABLE public.purse (id integer PRIMARY KEY, balance bigint CHECK (balance >= 0))")
  await pool.query("CREATE TABLE public.line (id bigserial PRIMARY KEY, amount bigint)")
  await pool.query("INSERT INTO public.purse VALUES (1, $1)", [CREDIT_MICROS])
  const rate = await perSecond(CONNECTIONS, async () => {
    const client = await pool.connect()
    try {
      await client.query("BEGIN")
      await client.query("UPDATE public.purse SET balance = balance - 1 WHERE id = 1 AND balance >= 1")
      await client.query("INSERT INTO public.line (amount) VALUES (1)")
      await client.query("COMMIT")
    } finally {
      client.release()
    }
  })
  await pool.end()
  return rate
}

const charges = async (url: string, organizations: number) => {
  const options = { connectionString: url, connectionsMax: CONNECTIONS, onError: () => undefined }
  await using database = openDatabase(options)
  const facts = { mode: "credit", currency: "USD", overageMax: 0, clock: systemClock } as const
  const ledger = createLedger({ db: database.db, log: createLog("silent"), ...facts })
  const ids = Array.from({ length: organizations }, () => newId())
  for (const organizationId of ids) {
    const of = { organizationId, reference: "grant:bench", kind: "promotional", expiresAt: null } as const
    await ledger.addCredit(database.db, { ...of, amountMicros: CREDIT_MICROS, description: "" }, new Date())
  }
  const from = performance.now()
  let count = 0
  await perSecond(CALLERS, async caller => {
    const hold = await ledger.hold({
      organizationId: ids[caller % organizations] ?? "",
      reference: `bench:${newId()}`,
      ...{ leastMicros: 10, mostMicros: 10, owedMicros: 0, description: "bench", lastsMs: 60_000 },
    })
    hold.post(7)
    count++
  })
  // A charge counts when it is stored.
  await ledger.settled()
  const rate = Math.round((count * 1000) / (performance.now() - from))
  ledger[Symbol.dispose]()
  return rate
}

export const ledgerFigures: Part = async tell => {
  const dataDir = makeDataDir()
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined })
  try {
    const url = postgres.connectionString
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    await migrate(pool, migrationSources())
    await pool.end()
    tell({ bare_charges_per_s: await bare(url) })
    tell({ svc_ledger_one_organization_charges_per_s: await charges(url, 1) })
    tell({ svc_ledger_64_organizations_charges_per_s: await charges(url, 64) })
  } finally {
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

if (import.meta.main) await ledgerFigures(printFigures, "", 0)
