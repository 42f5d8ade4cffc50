/** The composition root: opens everything in order, closes it in reverse. */

import { isIPv6 } from "node:net"
import { fileURLToPath } from "node:url"
import { areas as contract } from "@svc/contract"
import { cronArea } from "./areas/cron/area.ts"
import { databasesArea } from "./areas/databases/area.ts"
import { emailArea } from "./areas/email/area.ts"
import { encryptionArea } from "./areas/encryption/area.ts"
import { eventsArea } from "./areas/events/area.ts"
import { integrationsArea } from "./areas/integrations/area.ts"
import { kvArea } from "./areas/kv/area.ts"
import { notificationsArea } from "./areas/notifications/area.ts"
import { searchArea } from "./areas/search/area.ts"
import { storageArea } from "./areas/storage/area.ts"
import { rerouteS3 } from "./areas/storage/s3/addressing.ts"
import { renderS3Error } from "./areas/storage/s3/errors.ts"
import { supportArea } from "./areas/support/area.ts"
import { vectorsArea } from "./areas/vectors/area.ts"
import { webhooksArea } from "./areas/webhooks/area.ts"
import { type Config, configAt, type Settings, searchProvider } from "./config.ts"
import { coreMigrations, createCore, secretsMigrations } from "./core/core.ts"
import { deliveriesMigrations, openDeliveries } from "./core/deliveries/open.ts"
import { type FirstRun, firstRun } from "./core/first-run.ts"
import { createScheduleTargets } from "./core/schedule-targets.ts"
import { checkMasterKey } from "./core/secrets/fingerprint.ts"
import { loadMasterKey } from "./core/secrets/master-key.ts"
import type { AreaDefinition, AreaState, RunningArea } from "./kernel/area.ts"
import { type Clock, systemClock } from "./kernel/clock.ts"
import { type Changes, listenForChanges } from "./kernel/db/changes.ts"
import { type Database, openDatabase } from "./kernel/db/database.ts"
import { acquireDataDirLock, type DataDirLock } from "./kernel/db/embedded/lock.ts"
import { startEmbeddedPostgres } from "./kernel/db/embedded/start.ts"
import { superviseEmbeddedPostgres } from "./kernel/db/embedded/supervise.ts"
import { checkExternalDatabase } from "./kernel/db/external.ts"
import { type MigrationSource, migrate } from "./kernel/db/migrate.ts"
import { createHttpEdge } from "./kernel/edges/http.ts"
import { createInProcessCaller, type InProcessCaller } from "./kernel/edges/in-process.ts"
import { renderOpenApi } from "./kernel/edges/openapi.ts"
import { addPages, type Readiness } from "./kernel/edges/pages.ts"
import { openJobs } from "./kernel/jobs/open.ts"
import { type Listener, takeAddress } from "./kernel/listener.ts"
import { createLog, type Logger } from "./kernel/log.ts"
import { createMetrics } from "./kernel/metrics.ts"
import { createOffer } from "./kernel/offer.ts"
import { createAddressRules } from "./kernel/outbound/addresses.ts"
import { createOutbound } from "./kernel/outbound/open.ts"
import { createGuardedSockets } from "./kernel/outbound/sockets.ts"
import { createPipeline } from "./kernel/pipeline.ts"
import { createReplays } from "./kernel/replays.ts"
import { createLimits } from "./kernel/stages/limit.ts"
import { StartupError } from "./kernel/startup-error.ts"
import { openBlobs } from "./ports/blob/index.ts"
import { createDns } from "./ports/dns/resolver.ts"
import { type EngineProvider, openEngine } from "./ports/engine/index.ts"
import { openGit } from "./ports/git/index.ts"
import { openKv } from "./ports/kv/index.ts"
import { openMails } from "./ports/mail/index.ts"
import { openSearch } from "./ports/search/index.ts"
import { openSecrets, type SecretsProvider } from "./ports/secrets/index.ts"
import { openVectorIndex, type VectorProvider } from "./ports/vectors/index.ts"
import type { FunctionCaller, MailSettings, ObjectReader, PostgresSettings, PushBuilder, Services, TableReader } from "./services.ts"

/** The areas that the core serves itself. */
const coreAreas = [
  contract.identity,
  contract.account,
  contract.organizations,
  contract.projects,
  contract.keys,
  contract.approvals,
]

export const areaDefinitions: readonly AreaDefinition<Services>[] = [
  databasesArea,
  encryptionArea,
  emailArea,
  storageArea,
  kvArea,
  cronArea,
  eventsArea,
  integrationsArea,
  vectorsArea,
  webhooksArea,
  searchArea,
  notificationsArea,
  supportArea,
]

const kernelMigrations: MigrationSource = {
  schema: "kernel",
  folder: fileURLToPath(new URL("kernel/db/migrations", import.meta.url)),
}

export const migrationSources = (
  areas: readonly AreaDefinition<Services>[] = areaDefinitions,
): MigrationSource[] => [
  ...[kernelMigrations, coreMigrations, secretsMigrations, deliveriesMigrations],
  ...areas.flatMap(area => area.migrations ?? []),
]

/** What tests put in the place of the platform's own. */
export interface Overrides {
  readonly clock?: Clock
  readonly log?: Logger
  /** Areas beside the platform's own. */
  readonly areas?: readonly AreaDefinition<Services>[]
  /** Where the data directories that new tenant databases are copied from are kept; making one takes a second. */
  readonly templatesDir?: string | undefined
}

export interface Platform extends AsyncDisposable {
  readonly url: string
  readonly config: Config
  readonly database: Database
  readonly inProcess: InProcessCaller
  /** The credentials made on the first start; undefined on later ones. */
  readonly firstRun: FirstRun | undefined
}

/** Supervisors often end a process for good ten seconds after they asked it to; closing the engines takes one or two. */
const DRAIN_MS_MAX = 7_000
const PRUNE_EVERY_MS = 3_600_000

interface Start {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly definitions: readonly AreaDefinition<Services>[]
  readonly templatesDir: string | undefined
  /** Whatever opens joins this stack, which closes it in reverse. */
  readonly opened: AsyncDisposableStack
}

/** Like `Promise.all`, but waits for every one: what did open must be known before it can be closed again. */
const allOf = async <Promises extends readonly unknown[] | []>(promises: Promises) => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/** The control database: the operator's, or one that lives and dies with this process. */
const openControlDatabase = async ({ config, log, opened }: Start, lock: DataDirLock): Promise<string> => {
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

const openMail = (config: Config, opened: AsyncDisposableStack) => {
  const sockets = opened.use(createGuardedSockets(config))
  const { hostname } = new URL(config.baseUrl)
  const relay = config.smtpServer && { ...config.smtpServer, maxPerSecond: null }
  const mails = opened.use(
    openMails({
      ...{ relay, direct: config.mailDirect === "on", helo: hostname, dnsServers: config.dnsServers },
      connect: sockets.connect,
    }),
  )
  return { mails, mailFrom: config.mailFrom ?? `no-reply@${hostname}` }
}

const engineProvider = (start: Start): EngineProvider => {
  const { databaseCluster } = start.config
  if (databaseCluster === undefined) return localEngine(start)
  return { driver: "cnpg", ...databaseCluster, log: line => start.log.debug({ engine: line }) }
}

const localEngine = ({ config, log, templatesDir }: Start): EngineProvider => ({
  driver: "local",
  dataDir: config.dataDir,
  runAs: config.runAs,
  programs: { 16: config.pgBinDir16, 17: config.pgBinDir17, 18: config.pgBinDir18 },
  templatesDir,
  dedicated:
    config.dedicatedCgroup === undefined
      ? undefined
      : {
          parentDir: config.dedicatedCgroup,
          memoryBytes: config.dedicatedMemoryMb * 2 ** 20,
          cpus: config.dedicatedCpus,
        },
  log: (line: string) => log.debug({ engine: line }),
})

/** Clients of the wire protocol come to the host that everybody uses, unless the operator names another. */
const postgresSettings = (config: Config): PostgresSettings => ({
  bindHost: config.host,
  bindPort: config.postgresPort,
  host: config.postgresHost ?? new URL(config.baseUrl).hostname,
  requireTls: config.postgresTls,
  certFile: config.postgresTlsCert,
  keyFile: config.postgresTlsKey,
  certificateDir: config.dataDir,
  graceSeconds: config.databaseGraceSeconds,
})

const mailSettings = (config: Config): MailSettings => {
  const ownHost = new URL(config.baseUrl).hostname
  const { mailHost = ownHost, trackingHost = ownHost, smtpPort, smtpHost = config.host } = config
  return {
    ...{ mailHost, trackingHost, spfTerms: config.mailSpf ?? `a:${mailHost}` },
    door: smtpPort === undefined ? undefined : { host: smtpHost, port: smtpPort },
  }
}

/** Whether what a user's domain names may be reached at this address. */
const mayReach = ({ outboundAllow }: Config) => {
  const verdictOf = createAddressRules(outboundAllow)
  return (address: string) => verdictOf(address) !== "refused"
}

const secretsProvider = ({ config, log }: Start, masterKey: Buffer): SecretsProvider => {
  const { vaultAddress: address, vaultToken: token, vaultTokenFile: tokenFile, vaultKey } = config
  if (address === undefined) return { driver: "local", masterKey }
  if (token === undefined && tokenFile === undefined) {
    throw new StartupError(
      "SVC_VAULT_ADDR names a Vault, and there is no token for it.",
      "Set SVC_VAULT_TOKEN or SVC_VAULT_TOKEN_FILE.",
    )
  }
  return {
    ...{ driver: "vault", masterKey, address, token, tokenFile, ...vaultKey },
    ...{ namespace: config.vaultNamespace, caFile: config.vaultCaFile },
    warn: line => log.warn({ secrets: line }),
  }
}

const vectorProvider = ({ config, clock }: Start): VectorProvider =>
  config.qdrantUrl === undefined
    ? { driver: "usearch", memoryBytes: config.vectorsMemoryMb * 2 ** 20, clock }
    : { driver: "qdrant", url: config.qdrantUrl, key: config.qdrantKey }

const openEngines = async (start: Start, lock: DataDirLock) => {
  const { config, log, definitions, opened } = start
  const [connectionString, engine, kv, blob, vectors, masterKey] = await allOf([
    openControlDatabase(start, lock),
    openEngine(engineProvider(start)).then(engine => opened.use(engine)),
    openKv(config.kv).then(kv => opened.use(kv)),
    openBlobs(config.blob).then(blob => opened.use(blob)),
    openVectorIndex(vectorProvider(start)).then(index => opened.use(index)),
    loadMasterKey(config.dataDir, config.masterKey),
  ])
  const onError = (error: Error) => log.warn({ reason: error.message }, "a database connection broke")
  const { databaseConnectionsMax: connectionsMax } = config
  const database = opened.use(openDatabase({ connectionString, connectionsMax, onError }))
  const keysDatabase = opened.use(openDatabase({ connectionString, connectionsMax: 1, onError }))
  if (config.databaseUrl !== undefined) await checkExternalDatabase(database)
  const [changes] = await allOf([
    listenForChanges(connectionString, log).then(changes => opened.use(changes)),
    migrate(database.pool, migrationSources(definitions)),
  ])
  await checkMasterKey(database.db, masterKey)
  const search = opened.use(await openSearch(searchProvider(config, database.pool)))
  const secrets = opened.use(await openSecrets(secretsProvider(start, masterKey)))
  return { database, keysDatabase, changes, engine, kv, blob, vectors, search, masterKey, secrets }
}

type Engines = Awaited<ReturnType<typeof openEngines>>

/** Kernel, core and areas, put together; nothing of it listens yet. */
const assemble = async ({ config, clock, log, definitions, opened }: Start, engines: Engines) => {
  const { database, keysDatabase, changes, engine, kv, blob, vectors, search, masterKey, secrets } = engines
  const limits = createLimits(config.rateLimit)
  const running = new Map<string, RunningArea>()
  let inProcess: InProcessCaller | undefined

  const stateOf = async (name: string): Promise<AreaState> => {
    try {
      return (await running.get(name)?.state()) ?? { status: "degraded", reason: "it has not started" }
    } catch (error) {
      log.error({ err: error, area: name }, "an area cannot tell its state")
      return { status: "degraded", reason: "it cannot tell its state" }
    }
  }
  const areaStates = () =>
    Promise.all([
      // They live in the control database alone; when that is gone, nobody gets as far as this answer.
      ...coreAreas.map(({ name, title }) => ({ name, title, status: "available" as const })),
      ...definitions.map(async ({ name, title }) => ({ name, title, ...(await stateOf(name)) })),
    ])
  const core = opened.use(
    createCore({
      ...{ config, masterKey, secrets, clock, log, database, keysDatabase, changes, limits, areaStates },
      inProcess: () => inProcess ?? unavailable(),
    }),
  )
  const { box, tenantKeys, meters, platformEvents } = core
  const metrics = opened.use(createMetrics())
  const outbound = opened.use(createOutbound(config, metrics))
  const work = opened.use(openJobs({ database, changes, clock, log, metrics }))
  const { jobs } = work
  for (const schedule of core.schedules) jobs.schedule(schedule)
  const { retryDelayFactor: delayFactor } = config
  const sending = opened.use(
    openDeliveries({ database, changes, clock, log, outbound, meters, jobs, metrics, delayFactor }),
  )
  const { deliveries } = sending
  const services = {
    ...{ database, changes, clock, log, kv, blob, vectors, engine, box, tenantKeys, meters, metrics, jobs },
    ...{ accessKeys: core.signatures, outbound, deliveries },
    ...{ search, tables: createOffer<TableReader>(), objects: createOffer<ObjectReader>() },
    ...{ git: openGit({ http: outbound, now: clock.now, baseUrls: gitUrls(config) }) },
    pushes: createOffer<PushBuilder>(),
    functions: createOffer<FunctionCaller>(),
    keys: core.keys,
    baseUrl: config.baseUrl,
    ...openMail(config, opened),
    platformEvents,
    scheduleTargets: createScheduleTargets(),
    retryDelayFactor: config.retryDelayFactor,
    postgres: postgresSettings(config),
    dns: createDns({
      servers: config.dnsServers,
      // An operator who names servers has a reason not to ask others.
      asksZones: config.dnsServers.length === 0,
      mayAsk: mayReach(config),
    }),
    mail: mailSettings(config),
    ai:
      config.aiUrl === undefined
        ? undefined
        : { baseUrl: config.aiUrl, key: config.aiKey, model: config.aiModel },
  }
  for (const definition of definitions) {
    const area = await definition.start({ ...services })
    running.set(definition.name, area)
    if (area[Symbol.asyncDispose]) opened.use(area as RunningArea & AsyncDisposable)
  }

  const operations = [...core.operations, ...[...running.values()].flatMap(area => area.operations)]
  const replays = createReplays(database.db)
  opened.use(clock.every(PRUNE_EVERY_MS, () => replays.prune(clock.now())))
  const origins = ownOrigins(config)
  const pipeline = createPipeline({
    ...core,
    ...{ clock, log, database, limits, replays, metrics },
    baseUrl: config.baseUrl,
    isOwnOrigin: origin => origins.has(origin),
  })
  inProcess = createInProcessCaller(pipeline, operations)
  return { pipeline, operations, inProcess, metrics, work, sending, passwords: core.passwords }
}

type Assembled = Awaited<ReturnType<typeof assemble>>

const serve = async (
  { config, clock, log, opened }: Start,
  { database, changes }: Engines,
  { pipeline, operations, metrics, work, sending }: Assembled,
  listener: Listener,
): Promise<void> => {
  const { baseUrl, trustedProxies, metricsToken } = config
  const app = createHttpEdge({
    ...{ pipeline, operations, log, baseUrl, trustedProxies, clock },
    renderErrors: { s3: renderS3Error },
    reroute: rerouteS3,
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
  await listener.handOver(app.server)
  opened.defer(async () => {
    await Promise.all([drain(app), work.drain(DRAIN_MS_MAX), sending.drain(DRAIN_MS_MAX)])
  })
  await Promise.all([work.start(), sending.start()])
}

/** Starts everything on the settings. Throws a StartupError for what the operator can mend, and leaves nothing open. */
export const startPlatform = async (settings: Settings, overrides: Overrides = {}): Promise<Platform> => {
  const { clock = systemClock, log = createLog(settings.logLevel), areas = [], templatesDir } = overrides
  await using opened = new AsyncDisposableStack()
  const lock = opened.use(acquireDataDirLock(settings.dataDir))
  const listener = opened.use(await takeAddress(settings.host, settings.port))
  const config = configAt(settings, listener.port)

  const start: Start = {
    config,
    clock,
    log,
    definitions: [...areaDefinitions, ...areas],
    templatesDir,
    opened,
  }
  const engines = await openEngines(start, lock)
  const assembled = await assemble(start, engines)
  const { database } = engines
  const { inProcess, passwords } = assembled
  const made = await firstRun({ config, database, passwords, now: new Date(clock.now()) })
  await serve(start, engines, assembled, listener)

  const resources = opened.move()
  return {
    url: addressOf(config),
    config,
    database,
    inProcess,
    firstRun: made,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Where this process itself is reached, whatever stands in front of it. */
const addressOf = ({ host, port }: Config): string =>
  `http://${isIPv6(host) ? `[${host}]` : host}:${port}`.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//localhost")

const gitUrls = ({ githubUrl, gitlabUrl, bitbucketUrl, giteaUrl }: Config) => ({
  ...{ github: githubUrl, gitlab: gitlabUrl, bitbucket: bitbucketUrl, gitea: giteaUrl },
})

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
  if (!answered) return { ready: false, reason: "the control database does not answer" }
  return changes.listening ? { ready: true } : { ready: false, reason: "news of changed keys do not arrive" }
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
