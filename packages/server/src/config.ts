/** The settings of an environment, and what follows from them. Read once, at start, by `main.ts`. */
import { isIP } from "node:net"
import { availableParallelism } from "node:os"
import { resolve } from "node:path"
import { StartupError } from "./kernel/startup-error.ts"
import type { BlobProvider } from "./ports/blob/index.ts"
import type { KvProvider } from "./ports/kv/index.ts"
import { settings } from "./settings.ts"

type Parsed = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]["parse"]> }

/** The settings as the operator gave them. */
export type Settings = Omit<Parsed, "kvUrl" | BlobSetting> & {
  readonly kv: KvProvider
  readonly blob: BlobProvider
}

type BlobSetting = "blobUrl" | "blobRegion" | "blobAccessKey" | "blobSecretKey" | "blobAddressing"

const blobProvider = (dataDir: string, settings: Pick<Parsed, BlobSetting>): BlobProvider => {
  const { blobUrl, blobRegion, blobAccessKey, blobSecretKey, blobAddressing } = settings
  if (blobUrl === undefined) return { driver: "disk", path: resolve(dataDir, "blobs") }
  const credentials =
    blobAccessKey === undefined || blobSecretKey === undefined
      ? undefined
      : { accessKeyId: blobAccessKey, secretAccessKey: blobSecretKey }
  if (credentials === undefined && blobAccessKey !== blobSecretKey)
    throw new StartupError(
      "One of SVC_BLOB_S3_ACCESS_KEY and SVC_BLOB_S3_SECRET_KEY is missing.",
      "Set both, or neither.",
    )
  return { driver: "s3", ...blobUrl, region: blobRegion, credentials, addressing: blobAddressing }
}

/** The settings of a running platform, whose address is known. */
export type Config = Settings & {
  readonly baseUrl: string
  readonly postgresPort: number
  readonly sshPort: number | "off"
}

/** The settings of an environment; throws a StartupError that lists every one that is wrong. */
export const readConfig = (env: Readonly<Record<string, string | undefined>>): Settings => {
  const wrong: string[] = []
  const parsed = Object.entries(settings).map(([name, setting]) => {
    try {
      return [name, setting.parse(env[setting.variable] || undefined)]
    } catch (error) {
      wrong.push(`${setting.variable} ${error instanceof Error ? error.message : "is not valid"}`)
      return [name, undefined]
    }
  })
  const known = new Set<string>(Object.values(settings).map(({ variable }) => variable))
  for (const variable of Object.keys(env)) {
    if (variable.startsWith("SVC_") && !known.has(variable) && !CLIENT_VARIABLES.has(variable)) {
      wrong.push(`${variable} is not a setting`)
    }
  }
  if (wrong.length > 0)
    throw new StartupError(
      `The settings are not valid: ${wrong.join("; ")}.`,
      "See docs/generated/configuration.md.",
    )

  const { kvUrl, blobUrl, blobRegion, blobAccessKey, blobSecretKey, blobAddressing, ...config } =
    Object.fromEntries(parsed) as Parsed
  const blob = { blobUrl, blobRegion, blobAccessKey, blobSecretKey, blobAddressing }
  return {
    ...config,
    blob: blobProvider(config.dataDir, blob),
    kv:
      kvUrl === undefined
        ? { driver: "lmdb", path: resolve(config.dataDir, "kv") }
        : { driver: "redis", url: kvUrl },
  }
}

/** Names of every address of this machine, or of itself only, for which `localhost` is the name that works. */
const LOCAL_HOSTS: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "0.0.0.0", "::", "localhost"])

/** Fills in what only a taken port decides. */
export const configAt = (settings: Settings, port: number): Config => {
  const { host } = settings
  const name = LOCAL_HOSTS.has(host) ? "localhost" : isIP(host) === 6 ? `[${host}]` : host
  return {
    ...settings,
    port,
    // Where any port will do, the one after it may be somebody else's.
    postgresPort: settings.postgresPort ?? (settings.port === 0 ? 0 : port + 1),
    sshPort: settings.sshPort ?? (settings.port === 0 ? 0 : port + 2),
    baseUrl: settings.baseUrl ?? `http://${name}:${port}`,
  }
}

/** Read by the command line, and often set in the same shell. */
const CLIENT_VARIABLES: ReadonlySet<string> = new Set(["SVC_TOKEN", "SVC_API_URL", "SVC_PROJECT"])

/** Hashing passwords keeps a processor busy; more at once than there are would only slow each down. */
export const PASSWORD_HASHES_MAX = availableParallelism()
