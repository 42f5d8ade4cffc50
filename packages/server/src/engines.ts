/** From settings to open engines: which driver stands behind each port, and where. */

import { createPrivateKey, hkdfSync, type KeyObject } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { Config } from "./config.ts"
import type { Passwords } from "./core/accounts/passwords.ts"
import { checkMasterKey } from "./core/secrets/fingerprint.ts"
import { loadMasterKey } from "./core/secrets/master-key.ts"
import { createPortUrls, type PortUrls } from "./core/workloads/port-urls.ts"
import type { AreaModule } from "./kernel/area.ts"
import type { Clock } from "./kernel/clock.ts"
import { listenForChanges } from "./kernel/db/changes.ts"
import { type Database, openDatabase } from "./kernel/db/database.ts"
import type { DataDirLock } from "./kernel/db/embedded/lock.ts"
import { startEmbeddedPostgres } from "./kernel/db/embedded/start.ts"
import { superviseEmbeddedPostgres } from "./kernel/db/embedded/supervise.ts"
import { checkExternalDatabase } from "./kernel/db/external.ts"
import { createDatabaseFanout } from "./kernel/db/fanout.ts"
import { migrate } from "./kernel/db/migrate.ts"
import type { Fanout } from "./kernel/fanout.ts"
import type { Logger } from "./kernel/log.ts"
import { createAddressRules } from "./kernel/outbound/addresses.ts"
import type { Outbound } from "./kernel/outbound/outbound.ts"
import { createGuardedSockets } from "./kernel/outbound/sockets.ts"
import { StartupError } from "./kernel/startup-error.ts"
import { migrationSources } from "./migration-sources.ts"
import { openBlobs } from "./ports/blob/index.ts"
import { type EngineProvider, openEngine } from "./ports/engine/index.ts"
import type { EnginePort } from "./ports/engine/port.ts"
import { openFanout } from "./ports/fanout/index.ts"
import { openKv } from "./ports/kv/index.ts"
import { openMails } from "./ports/mail/index.ts"
import type { PushOptions } from "./ports/push/index.ts"
import { openRuntime } from "./ports/runtime/index.ts"
import { openSearch, type SearchProvider } from "./ports/search/index.ts"
import { openSecrets, type SecretsProvider } from "./ports/secrets/index.ts"
import { openVectorIndex, type VectorProvider } from "./ports/vectors/index.ts"
import { runtimeOptions } from "./runtime-options.ts"
import type { MailSettings, PostgresSettings, Services, SshSettings } from "./services.ts"

/** What a platform is started with. */
export interface Start {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly modules: readonly AreaModule<Services>[]
  readonly templatesDir: string | undefined
  readonly passwords: Passwords
  /** In place of the one that the settings name. */
  readonly engine: EnginePort | undefined
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

export const openMail = (config: Config, opened: AsyncDisposableStack) => {
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
  memoryMb: config.databaseMemoryMb,
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
export const postgresSettings = (config: Config, masterKey: Buffer): PostgresSettings => ({
  bindHost: config.host,
  bindPort: config.postgresPort,
  // A web address has brackets around an IPv6 address, which are no part of it.
  host: config.postgresHost ?? new URL(config.baseUrl).hostname.replace(/^\[(.*)\]$/, "$1"),
  requireTls: config.postgresTls,
  certFile: config.postgresTlsCert,
  keyFile: config.postgresTlsKey,
  certificateDir: config.dataDir,
  authoritySecret: Buffer.from(hkdfSync("sha256", masterKey, "svc:database-authority", "p-256", 32)),
  graceSeconds: config.databaseGraceSeconds,
  textToSqlMs: config.textToSqlMs,
  diskBytesMax: config.databaseDiskMb === undefined ? undefined : config.databaseDiskMb * 2 ** 20,
})

/** Names below `localhost` lead to whoever asks, as its own do. */
export const portUrls = ({ sandboxDomain, baseUrl }: Config, masterKey: Buffer): PortUrls | undefined => {
  const base = new URL(baseUrl)
  const domain = sandboxDomain ?? (base.hostname === "localhost" ? "sandboxes.localhost" : undefined)
  return domain === undefined ? undefined : createPortUrls({ base, domain, masterKey })
}

/** Names below it are buckets. */
export const s3Domain = ({ s3Domain, baseUrl }: Pick<Config, "s3Domain" | "baseUrl">): string | undefined =>
  s3Domain ?? (new URL(baseUrl).hostname === "localhost" ? "s3.localhost" : undefined)

/** The same master key makes the same host key, so that clients know every process of an installation. */
export const sshSettings = (config: Config, masterKey: Buffer): SshSettings | undefined => {
  if (config.sshPort === "off") return undefined
  return {
    bindHost: config.host,
    bindPort: config.sshPort,
    host: config.sshHost ?? new URL(config.baseUrl).hostname,
    hostKey: ed25519Of(Buffer.from(hkdfSync("sha256", masterKey, "svc:ssh-host-key", "ed25519", 32))),
  }
}

/** Of the seed, wrapped as PKCS #8 does it (RFC 8410). */
const ed25519Of = (seed: Buffer): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
    format: "der",
    type: "pkcs8",
  })

export const mailSettings = (config: Config): MailSettings => {
  const ownHost = new URL(config.baseUrl).hostname
  const { mailHost = ownHost, trackingHost = ownHost, smtpPort, smtpHost = config.host } = config
  return {
    ...{ mailHost, trackingHost, spfTerms: config.mailSpf ?? `a:${mailHost}` },
    door: smtpPort === undefined ? undefined : { host: smtpHost, port: smtpPort },
  }
}

export const imageSettings = ({ dataDir, imagesMb, imageMbMax, imageRegistries }: Config) => ({
  ...{ dataDir, registries: imageRegistries },
  ...{ imageBytesMax: imageMbMax * 2 ** 20, storeBytesMax: imagesMb * 2 ** 20 },
})

/** Whether what a user's domain names may be reached at this address. */
export const mayReach = ({ outboundAllow }: Config) => {
  const verdictOf = createAddressRules(outboundAllow)
  return (address: string) => verdictOf(address) !== "refused"
}

/** Where devices are is what users say, so drivers reach them by the guarded client alone. */
export const pushTransport = ({ request, connect }: Outbound): Pick<PushOptions, "fetch" | "connect"> => ({
  async fetch(given) {
    const answer = await request(given)
    if (answer.kind === "answered") return answer
    return { kind: "unanswered", isFinal: answer.kind === "refused", message: answer.message }
  },
  async connect(url, signal) {
    const made = await connect(url, signal)
    if (made.kind === "connected") return made
    return { kind: "unanswered", isFinal: made.kind === "refused", message: made.message }
  },
})

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

const searchProvider = ({ config }: Start, { pool }: Database): SearchProvider => {
  const { opensearchUrl: url, opensearchUser: user, opensearchPassword: password } = config
  if (url === undefined) return { driver: "postgres", pool }
  return { driver: "opensearch", url, user, password, index: config.opensearchIndex }
}

/** What carries the news between processes: NATS where there is one, else PostgreSQL itself. */
const openNews = async ({ config, log, opened }: Start, byDatabase: () => Fanout): Promise<Fanout> => {
  const { natsUrl: url, natsCredentialsFile: file, natsReplicas: replicas } = config
  if (url === undefined) return byDatabase()
  const credentials = file === undefined ? undefined : await readFile(file, "utf8")
  const warn = (line: string) => log.warn({ nats: line }, "news between processes are interrupted")
  return opened.use(await openFanout({ driver: "nats", url, credentials, replicas, log: warn }))
}

const openWorkloads = ({ config, log }: Start) =>
  openRuntime(runtimeOptions(config, line => log.debug({ runtime: line })))

const openTenantEngine = async (start: Start): Promise<EnginePort> =>
  start.engine ?? openEngine(engineProvider(start))

/** Opens what everything else stands on, and brings the control database up to date. */
export const openEngines = async (start: Start, lock: DataDirLock) => {
  const { config, log, modules, opened } = start
  const [connectionString, engine, kv, blob, vectors, runtime, masterKey] = await allOf([
    openControlDatabase(start, lock),
    openTenantEngine(start).then(engine => opened.use(engine)),
    openKv(config.kv).then(kv => opened.use(kv)),
    openBlobs(config.blob).then(blob => opened.use(blob)),
    openVectorIndex(vectorProvider(start)).then(index => opened.use(index)),
    openWorkloads(start).then(runtime => opened.use(runtime)),
    loadMasterKey(config.dataDir, config.masterKey, config.masterKeyFile),
  ])
  const onError = (error: Error) => log.warn({ reason: error.message }, "a database connection broke")
  const { databaseConnectionsMax: connectionsMax } = config
  const database = opened.use(openDatabase({ connectionString, connectionsMax, onError }))
  const keysDatabase = opened.use(openDatabase({ connectionString, connectionsMax: 1, onError }))
  if (config.databaseUrl !== undefined) await checkExternalDatabase(database)
  const [changes] = await allOf([
    listenForChanges(connectionString, log).then(changes => opened.use(changes)),
    migrate(database.pool, migrationSources(modules)),
  ])
  await checkMasterKey(database.db, masterKey)
  const search = opened.use(await openSearch(searchProvider(start, database)))
  const secrets = opened.use(await openSecrets(secretsProvider(start, masterKey)))
  const fanout = await openNews(start, () => createDatabaseFanout(database.db, changes))
  const stores = { engine, kv, blob, vectors, search, runtime }
  return { ...stores, database, keysDatabase, changes, fanout, masterKey, secrets }
}

export type Engines = Awaited<ReturnType<typeof openEngines>>
