/** The composition root: opens everything in order, closes it in reverse. */

import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { kvArea } from "./areas/kv/area.ts"
import type { Config } from "./config.ts"
import { coreMigrations, createCore } from "./core/core.ts"
import { type FirstRun, firstRun } from "./core/first-run.ts"
import { loadMasterKey } from "./core/secrets/secret-box.ts"
import type { AreaDefinition, RunningArea } from "./kernel/area.ts"
import { type Clock, systemClock } from "./kernel/clock.ts"
import { type Changes, listenForChanges } from "./kernel/db/changes.ts"
import { type Database, openDatabase } from "./kernel/db/database.ts"
import { acquireDataDirLock } from "./kernel/db/embedded/lock.ts"
import { startEmbeddedPostgres } from "./kernel/db/embedded/start.ts"
import { superviseEmbeddedPostgres } from "./kernel/db/embedded/supervise.ts"
import { type MigrationSource, migrate } from "./kernel/db/migrate.ts"
import { createHttpEdge } from "./kernel/edges/http.ts"
import { createInProcessCaller, type InProcessCaller } from "./kernel/edges/in-process.ts"
import { renderOpenApi } from "./kernel/edges/openapi.ts"
import { addPages, type Readiness } from "./kernel/edges/pages.ts"
import { createLog, type Logger } from "./kernel/log.ts"
import { createMetrics } from "./kernel/metrics.ts"
import { createPipeline } from "./kernel/pipeline.ts"
import { createReplays } from "./kernel/replays.ts"
import { createLimits } from "./kernel/stages/limit.ts"
import { openKv } from "./ports/kv/index.ts"
import type { Services } from "./services.ts"

export const areaDefinitions: readonly AreaDefinition<Services>[] = [kvArea]

const kernelMigrations: MigrationSource = {
  schema: "kernel",
  folder: fileURLToPath(new URL("kernel/db/migrations", import.meta.url)),
}

export const migrationSources = (
  areas: readonly AreaDefinition<Services>[] = areaDefinitions,
): MigrationSource[] => [kernelMigrations, coreMigrations, ...areas.flatMap(area => area.migrations ?? [])]

/** What tests put in the place of the platform's own. */
export interface Overrides {
  readonly clock?: Clock
  readonly log?: Logger
  /** Areas beside the platform's own. */
  readonly areas?: readonly AreaDefinition<Services>[]
}

export interface Platform extends AsyncDisposable {
  readonly url: string
  readonly config: Config
  readonly database: Database
  readonly inProcess: InProcessCaller
  /** The credentials made on the first start; undefined on later ones. */
  readonly firstRun: FirstRun | undefined
}

const DRAIN_MS_MAX = 10_000

/** The control database: the operator's, or one that lives and dies with this process. */
const openControlDatabase = async (config: Config, log: Logger, opened: AsyncDisposableStack) => {
  const lock = opened.use(acquireDataDirLock(config.dataDir))
  if (config.databaseUrl !== undefined) return config.databaseUrl
  const start = () =>
    startEmbeddedPostgres({
      dataDir: config.dataDir,
      lock,
      runAs: config.runAs,
      log: line => log.debug({ postgres: line }),
    })
  const postgres = opened.use(await superviseEmbeddedPostgres(start, log))
  return postgres.connectionString
}

export const startPlatform = async (config: Config, overrides: Overrides = {}): Promise<Platform> => {
  const { clock = systemClock, log = createLog(config.logLevel) } = overrides
  await using opened = new AsyncDisposableStack()
  const connectionString = await openControlDatabase(config, log, opened)
  const database = opened.use(
    openDatabase({
      connectionString,
      connectionsMax: config.databaseConnectionsMax,
      onError: error => log.warn({ err: error }, "a database connection broke"),
    }),
  )
  const definitions = [...areaDefinitions, ...(overrides.areas ?? [])]
  await migrate(database.pool, migrationSources(definitions))

  const [changes, kv, masterKey] = await Promise.all([
    listenForChanges(connectionString, log).then(changes => opened.use(changes)),
    openKv(config.kv).then(kv => opened.use(kv)),
    loadMasterKey(config.dataDir, config.masterKey),
  ])
  const limits = createLimits(config.rateLimit)
  const running = new Map<string, RunningArea>()
  let inProcess: InProcessCaller | undefined

  const areaStates = () =>
    Promise.all(
      definitions.map(async ({ name, title }) => ({ name, title, ...(await running.get(name)?.state()) })),
    ).then(states => states.map(state => ({ status: "degraded" as const, ...state })))

  const core = opened.use(
    createCore({
      config,
      masterKey,
      clock,
      log,
      database,
      changes,
      limits,
      areaStates,
      inProcess: () => inProcess ?? unavailable(),
    }),
  )
  for (const definition of definitions) {
    const area = await definition.start({ database, clock, log, kv })
    running.set(definition.name, area)
    if (area[Symbol.asyncDispose]) opened.use(area as RunningArea & AsyncDisposable)
  }

  const operations = [...core.operations, ...[...running.values()].flatMap(area => area.operations)]
  const replays = createReplays(database.db)
  const metrics = opened.use(createMetrics())
  const ownOrigins = new Set([config.baseUrl])
  const pipeline = createPipeline({
    ...core,
    clock,
    log,
    database,
    limits,
    replays,
    metrics,
    baseUrl: config.baseUrl,
    isOwnOrigin: origin => ownOrigins.has(origin),
  })
  inProcess = createInProcessCaller(pipeline, operations)
  const first = await firstRun({ config, database, passwords: core.passwords, now: new Date(clock.now()) })

  const app = createHttpEdge({
    pipeline,
    operations,
    log,
    baseUrl: config.baseUrl,
    trustedProxies: config.trustedProxies,
  })
  addPages(app, {
    baseUrl: config.baseUrl,
    openapi: () =>
      renderOpenApi(
        operations.map(({ operation }) => operation),
        { baseUrl: config.baseUrl },
      ),
    ready: () => readiness(database, changes),
    metrics: metrics.text,
    metricsToken: config.metricsToken,
  })
  await app.listen({ host: config.host, port: config.port })
  const { port } = app.server.address() as AddressInfo
  const url = `http://${config.host === "0.0.0.0" ? "localhost" : config.host}:${port}`
  ownOrigins.add(url).add(`http://localhost:${port}`).add(`http://127.0.0.1:${port}`)
  opened.use(clock.every(3_600_000, () => replays.prune(clock.now())))
  opened.defer(() => drain(app))

  const resources = opened.move()
  return {
    url,
    config,
    database,
    inProcess,
    firstRun: first,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const READY_MS_MAX = 1_000

/** Whether requests would be served right now: the control database answers, and news of revocations arrive. */
const readiness = async (database: Database, changes: Changes): Promise<Readiness> => {
  const answered = await Promise.race([
    database.pool.query("SELECT 1").then(
      () => true,
      () => false,
    ),
    new Promise<boolean>(resolve => setTimeout(resolve, READY_MS_MAX, false).unref()),
  ])
  if (!answered) return { ready: false, reason: "the control database does not answer" }
  return changes.listening ? { ready: true } : { ready: false, reason: "news of changed keys do not arrive" }
}

const unavailable = (): never => {
  throw new Error("the platform has not started yet")
}

/** Lets the requests under way finish, for ten seconds at most. */
const drain = async (app: ReturnType<typeof createHttpEdge>): Promise<void> => {
  const deadline = setTimeout(() => app.server.closeAllConnections(), DRAIN_MS_MAX)
  await app.close()
  clearTimeout(deadline)
}
