/** The composition root: opens everything in order, closes it in reverse. */

import { isIPv6 } from "node:net"
import { type Config, configAt, type GivenSettings, PASSWORD_HASHES_MAX } from "./config.ts"
import { createPasswords, type Passwords } from "./core/accounts/passwords.ts"
import { createBlobKeepers } from "./core/blob-keepers.ts"
import { createCore } from "./core/core.ts"
import { type FirstRun, firstRun } from "./core/first-run.ts"
import { type Modules, openModules } from "./core/modules.ts"
import { collectPersonalData } from "./core/personal-records.ts"
import { createScheduleTargets } from "./core/schedule-targets.ts"
import { createDeriveSecret } from "./core/secrets/derive.ts"
import * as coreTokens from "./core/tokens.ts"
import { type Engines, openEngines } from "./engines.ts"
import type { AreaModule } from "./kernel/area.ts"
import { type Clock, systemClock } from "./kernel/clock.ts"
import type { Changes } from "./kernel/db/changes.ts"
import type { Database } from "./kernel/db/database.ts"
import { acquireDataDirLock } from "./kernel/db/embedded/lock.ts"
import { createHttpEdge } from "./kernel/edges/http.ts"
import { createInProcessCaller, type InProcessCaller } from "./kernel/edges/in-process.ts"
import { renderOpenApi } from "./kernel/edges/openapi.ts"
import { createOwnServer } from "./kernel/edges/own-server.ts"
import { addPages, type Readiness } from "./kernel/edges/pages.ts"
import { createRelay } from "./kernel/edges/relay.ts"
import { openJobs } from "./kernel/jobs/open.ts"
import { type Listener, takeAddress } from "./kernel/listener.ts"
import { createLog, type Logger } from "./kernel/log.ts"
import { createMetrics } from "./kernel/metrics.ts"
import { createOutbound } from "./kernel/outbound/open.ts"
import { createPipeline } from "./kernel/pipeline.ts"
import { createReplays } from "./kernel/replays.ts"
import { createLimits } from "./kernel/stages/limit.ts"
import { type Supply, supply } from "./kernel/token.ts"
import * as kernelTokens from "./kernel/tokens.ts"
import { createUnroutedCounter } from "./kernel/unrouted.ts"
import { coreAreas, modules as ownModules } from "./modules.ts"
import type { Start } from "./start.ts"

/** What tests put in the place of the platform's own. */
export interface Overrides {
  readonly clock?: Clock
  readonly log?: Logger
  /** Areas beside the platform's own. */
  readonly areas?: readonly AreaModule[]
  /** The platform's own, in another order. */
  readonly ownAreas?: readonly AreaModule[]
  readonly passwords?: Passwords
  /** In place of what services would open. */
  readonly supplies?: readonly Supply[]
}

export interface Platform extends AsyncDisposable {
  readonly url: string
  readonly config: Config
  readonly database: Database
  readonly inProcess: InProcessCaller
  /** Names of the areas whose code is loaded. */
  loadedAreas(): readonly string[]
  /** The credentials made on the first start; undefined on later ones. */
  readonly firstRun: FirstRun | undefined
}

/** Supervisors often end a process for good ten seconds after they asked it to; closing the engines takes one or two. */
const DRAIN_MS_MAX = 7_000
const PRUNE_EVERY_MS = 3_600_000

/** Kernel, core and areas, put together; nothing of it listens yet. */
const assemble = async (start: Start, engines: Engines) => {
  const { config, clock, log, modules, passwords, opened } = start
  const { database, keysDatabase, changes, fanout, masterKey, secrets, mails, services } = engines
  const limits = createLimits(config)
  let inProcess: InProcessCaller | undefined
  const origins = ownOrigins(config)
  const isOwnOrigin = (origin: string) => origins.has(origin)

  const areaStates = async () => [
    // They live in the control database alone; when that is gone, nobody gets as far as this answer.
    ...coreAreas.map(({ name, title }) => ({ name, title, status: "available" as const })),
    ...(await areas.states()),
  ]
  const core = opened.use(
    createCore({
      ...{ config, masterKey, secrets, clock, log, database, keysDatabase, changes, limits, areaStates },
      ...{ mails, passwords },
      endUsers: services.offer(coreTokens.endUserTokens),
      inProcess: () => inProcess ?? unavailable(),
      jobs: () => jobs,
    }),
  )
  const { box, atRest, tenantKeys, meters, platformEvents } = core
  const metrics = opened.use(createMetrics())
  const outbound = opened.use(createOutbound(config, metrics))
  const ownServer = createOwnServer()
  const stopping = new AbortController()
  const relay = opened.use(createRelay({ masterKey, clock, log, stopping: stopping.signal }))
  const work = opened.use(openJobs({ database, fanout, clock, log, metrics }))
  const { jobs } = work
  core.defineQueues(jobs)
  for (const schedule of core.schedules) jobs.schedule(schedule)
  const scheduleTargets = createScheduleTargets()
  services.supply([
    supply(kernelTokens.baseUrl, config.baseUrl),
    supply(kernelTokens.fanout, fanout),
    supply(kernelTokens.metrics, metrics),
    supply(kernelTokens.jobs, jobs),
    supply(kernelTokens.outbound, outbound),
    supply(kernelTokens.relay, relay),
    supply(kernelTokens.ownServer, ownServer),
    supply(kernelTokens.inProcess, request => (inProcess ?? unavailable())(request)),
    supply(kernelTokens.isOwnOrigin, isOwnOrigin),
    supply(kernelTokens.stopping, stopping.signal),
    supply(kernelTokens.retryDelayFactor, config.retryDelayFactor),
    supply(coreTokens.box, box),
    supply(coreTokens.atRest, atRest),
    supply(coreTokens.tenantKeys, tenantKeys),
    supply(coreTokens.deriveSecret, createDeriveSecret(masterKey)),
    supply(coreTokens.passwords, passwords),
    supply(coreTokens.accessKeys, core.signatures),
    supply(coreTokens.keys, core.keys),
    supply(coreTokens.signedIn, core.signedIn),
    supply(coreTokens.meters, meters),
    supply(coreTokens.platformEvents, platformEvents),
    supply(coreTokens.scheduleTargets, scheduleTargets),
    supply(coreTokens.audit, core.audit),
    supply(coreTokens.personalData, () => collectPersonalData(modules)),
    supply(coreTokens.blobKeepers, createBlobKeepers(modules, database)),
    supply(coreTokens.areasSettled, () => areas.settled()),
  ])
  services.defer(work.defer)
  const areas: Modules = opened.use(
    openModules(modules, {
      services,
      settingsOf: config.of,
      deferJobs: work.defer,
      database,
      clock,
      log,
      platformEvents,
      scheduleTargets,
    }),
  )

  const operations = [...core.operations, ...areas.operations]
  const replays = createReplays(database.db)
  jobs.schedule({ name: "replays.prune", every: PRUNE_EVERY_MS, run: () => replays.prune(clock.now()) })
  const pipeline = createPipeline({
    ...core,
    ...{ clock, log, database, limits, replays, sealer: box, metrics },
    baseUrl: config.baseUrl,
    isOwnOrigin,
  })
  const countUnrouted = createUnroutedCounter({ credentials: core.credentials, limits, clock })
  inProcess = createInProcessCaller(pipeline, operations)
  return {
    areas,
    pipeline,
    countUnrouted,
    operations,
    inProcess,
    metrics,
    work,
    stopping,
    services,
    relay,
    ownServer,
  }
}

type Assembled = Awaited<ReturnType<typeof assemble>>

const serve = async (
  { config, clock, log, opened }: Start,
  { database, changes }: Engines,
  {
    pipeline,
    countUnrouted,
    operations,
    metrics,
    work,
    stopping,
    services,
    areas,
    relay,
    ownServer,
  }: Assembled,
  listener: Listener,
): Promise<void> => {
  const { baseUrl, trustedProxies, metricsToken } = config
  const app = createHttpEdge({
    ...{ pipeline, operations, log, baseUrl, trustedProxies, clock },
    ...areas.edge,
    countUnrouted,
    relay,
  })
  const declarations = operations.map(({ operation }) => operation)
  addPages(app, {
    baseUrl,
    openapi: () => renderOpenApi(declarations, { baseUrl }),
    ready: () => readiness(database, changes),
    metrics: metrics.text,
    metricsToken,
  })
  await app.ready()
  ownServer.attach(app.server)
  await listener.handOver(app.server)
  opened.defer(async () => {
    stopping.abort()
    await Promise.all([drain(app), work.drain(DRAIN_MS_MAX), services.drain(DRAIN_MS_MAX)])
  })
  await work.start()
}

/** Starts everything on the settings. Throws a StartupError for what the operator can mend, and leaves nothing open. */
export const startPlatform = async (
  settings: GivenSettings,
  overrides: Overrides = {},
): Promise<Platform> => {
  const { ownAreas = ownModules } = overrides
  const { clock = systemClock, log = createLog(settings.logLevel), areas = [], supplies = [] } = overrides
  const { passwords = createPasswords(PASSWORD_HASHES_MAX) } = overrides
  await using opened = new AsyncDisposableStack()
  const lock = opened.use(acquireDataDirLock(settings.dataDir))
  const listener = opened.use(await takeAddress(settings.host, settings.port))
  const config = configAt(settings, listener.port)

  const start: Start = {
    config,
    clock,
    log,
    modules: [...ownAreas, ...areas],
    passwords,
    supplies,
    opened,
  }
  const engines = await openEngines(start, lock)
  const assembled = await assemble(start, engines)
  const { database } = engines
  const { inProcess } = assembled
  const made = await firstRun({ config, database, passwords, now: new Date(clock.now()) })
  await assembled.services.start()
  await assembled.areas.start()
  await serve(start, engines, assembled, listener)
  await assembled.areas.resume()

  const resources = opened.move()
  return {
    url: addressOf(config),
    config,
    database,
    inProcess,
    loadedAreas: assembled.areas.loaded,
    firstRun: made,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Where this process itself is reached, whatever stands in front of it. */
const addressOf = ({ host, port }: Config): string =>
  `http://${isIPv6(host) ? `[${host}]` : host}:${port}`.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//localhost")

/** Pages of these origins are our own. */
const ownOrigins = (config: Config): ReadonlySet<string> =>
  new Set([
    ...[config.baseUrl, addressOf(config)].map(url => new URL(url).origin),
    ...["localhost", "127.0.0.1"].map(name => `http://${name}:${config.port}`),
  ])

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
  if (!answered) return { ready: false, reason: "the control database does not respond" }
  return changes.listening
    ? { ready: true }
    : { ready: false, reason: "change notifications of keys are not received" }
}

const unavailable = (): never => {
  throw new Error("the platform has not started yet")
}

/** Lets the requests under way finish, up to a limit. */
const drain = async (app: ReturnType<typeof createHttpEdge>): Promise<void> => {
  const deadline = setTimeout(() => app.server.closeAllConnections(), DRAIN_MS_MAX)
  await app.close()
  clearTimeout(deadline)
}
