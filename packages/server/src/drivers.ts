/** Which driver stands behind each port, as the settings say. What a driver is made of is loaded with it. */
import type { Config } from "./config.ts"
import type { Opener, Openers } from "./core/drivers.ts"
import type { Database } from "./kernel/db/database.ts"
import type { Outbound } from "./kernel/outbound/outbound.ts"
import { openBlobs } from "./ports/blob/index.ts"
import { type EngineProvider, openEngine } from "./ports/engine/index.ts"
import { openKv } from "./ports/kv/index.ts"
import type { PushOptions } from "./ports/push/index.ts"
import { openSearch, type SearchProvider } from "./ports/search/index.ts"
import { openVectorIndex, type VectorProvider } from "./ports/vectors/index.ts"
import { runtimeOptions } from "./runtime-options.ts"
import type { Drivers } from "./services.ts"
import type { Start } from "./start.ts"

interface Needs {
  readonly database: Database
  readonly outbound: Outbound
  readonly stopping: AbortSignal
  /** Resolves when the areas have said what of theirs must stay, with false where that will not be known. */
  readonly settled: () => Promise<boolean>
}

type DriverOpener<Name extends keyof Drivers> = Opener<Drivers[Name], Drivers>

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

const engineProvider = (start: Start): EngineProvider => {
  const { databaseCluster } = start.config
  if (databaseCluster === undefined) return localEngine(start)
  return { driver: "cnpg", ...databaseCluster, log: line => start.log.debug({ engine: line }) }
}

const engine = (start: Start): DriverOpener<"engine"> => ({
  atStart: start.engine !== undefined || start.config.databaseCluster !== undefined,
  open: async opened => opened.use(start.engine ?? (await openEngine(engineProvider(start)))),
})

const vectorProvider = ({ config, clock }: Start): VectorProvider =>
  config.qdrantUrl === undefined
    ? { driver: "usearch", memoryBytes: config.vectorsMemoryMb * 2 ** 20, clock }
    : { driver: "qdrant", url: config.qdrantUrl, key: config.qdrantKey }

const searchProvider = ({ config }: Start, { pool }: Database): SearchProvider => {
  const { opensearchUrl: url, opensearchUser: user, opensearchPassword: password } = config
  if (url === undefined) return { driver: "postgres", pool }
  return { driver: "opensearch", url, user, password, index: config.opensearchIndex }
}

/** What keeps data: a server that the operator names is asked at the start. */
const stores = (start: Start, { database }: Needs) =>
  ({
    kv: {
      atStart: start.config.kv.driver !== "lmdb",
      open: async opened => opened.use(await openKv(start.config.kv)),
    },
    blob: {
      atStart: start.config.blob.driver !== "disk",
      open: async opened => opened.use(await openBlobs(start.config.blob)),
    },
    vectors: {
      atStart: start.config.qdrantUrl !== undefined,
      open: async opened => opened.use(await openVectorIndex(vectorProvider(start))),
    },
    search: {
      atStart: start.config.opensearchUrl !== undefined,
      open: async opened => opened.use(await openSearch(searchProvider(start, database))),
    },
  }) satisfies Partial<Openers<Drivers>>

const imageSettings = ({ dataDir, imagesMb, imageMbMax, imageRegistries }: Config) => ({
  ...{ dataDir, registries: imageRegistries },
  ...{ imageBytesMax: imageMbMax * 2 ** 20, storeBytesMax: imagesMb * 2 ** 20 },
})

const hosts = ({ config, clock, log }: Start, { database, settled }: Needs): DriverOpener<"hosts"> => ({
  // Others send it work only once they know of it.
  atStart: config.peerUrl !== undefined,
  async open(opened, openDriver) {
    const { createHosts } = await import("./core/hosts/hosts.ts")
    const host = await createHosts({
      ...{ runtime: await openDriver("runtime"), database, clock, log },
      ...{ dataDir: config.dataDir, url: config.peerUrl },
      capacity: { memoryBytes: config.workloadMemoryMb * 2 ** 20, workloadsMax: config.workloadsMax },
    })
    opened.use(host)
    // Not waited for: an area that has yet to say which of them are its own may be waiting for this driver.
    const removed = settled().then(isKnown => (isKnown ? host.removeLeftovers() : undefined))
    opened.defer(() => removed)
    return host.hosts
  },
})

/** What runs workloads. */
const workloads = (start: Start, needs: Needs) =>
  ({
    runtime: {
      atStart: false,
      async open(opened) {
        const { openRuntime } = await import("./ports/runtime/index.ts")
        const log = (line: string) => start.log.debug({ runtime: line })
        return opened.use(await openRuntime(runtimeOptions(start.config, log)))
      },
    },
    hosts: hosts(start, needs),
    images: {
      atStart: false,
      async open(opened) {
        const { openImages } = await import("./core/images/images.ts")
        const { clock, log } = start
        const { outbound, stopping } = needs
        return opened.use(
          await openImages({ ...imageSettings(start.config), outbound, clock, log, stopping }),
        )
      },
    },
  }) satisfies Partial<Openers<Drivers>>

/** Where devices are is what users say, so drivers reach them by the guarded client alone. */
const pushTransport = ({ request, connect }: Outbound): Pick<PushOptions, "fetch" | "connect"> => ({
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

const gitUrls = ({ githubUrl, gitlabUrl, bitbucketUrl, giteaUrl }: Config) => ({
  ...{ github: githubUrl, gitlab: gitlabUrl, bitbucket: bitbucketUrl, gitea: giteaUrl },
})

export const driverOpeners = (start: Start, needs: Needs): Openers<Drivers> => ({
  ...stores(start, needs),
  ...workloads(start, needs),
  engine: engine(start),
  git: {
    atStart: false,
    async open() {
      const { openGit } = await import("./ports/git/index.ts")
      return openGit({ http: needs.outbound, now: start.clock.now, baseUrls: gitUrls(start.config) })
    },
  },
  push: {
    atStart: false,
    async open(opened) {
      const { openPush } = await import("./ports/push/index.ts")
      return opened.use(openPush({ ...pushTransport(needs.outbound), clock: start.clock }))
    },
  },
})
