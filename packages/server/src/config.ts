/** The settings of an environment, and what follows from them. Read once, at start, by `main.ts`. */
import { isIP } from "node:net"
import { availableParallelism } from "node:os"
import { readSettings, type Settings, type ValuesOf } from "./kernel/setting.ts"
import { StartupError } from "./kernel/startup-error.ts"
import type { Installation } from "./kernel/tokens.ts"
import { modules, services } from "./modules.ts"
import { settings } from "./settings.ts"

/** The settings as the operator gave them: the platform's own, and those of each module when it asks. */
export type GivenSettings = ValuesOf<typeof settings> & {
  of<Declared extends Settings>(declared: Declared): ValuesOf<Declared>
}

/** The settings of a running platform, whose address is known. */
export type Config = GivenSettings & {
  readonly baseUrl: string
  /** Whether the operator left the choice of ports to the system. */
  readonly isAnyPort: boolean
}

/** Every setting there is, by whose it is. */
export const settingGroups = (): readonly { readonly of: string; readonly settings: Settings }[] => [
  { of: "Platform", settings },
  ...[...services]
    .map(({ provides, settings = {} }) => ({ of: `Service: ${provides.name}`, settings }))
    .toSorted((one, other) => one.of.localeCompare(other.of)),
  ...modules.map(({ title, settings = {} }) => ({ of: title, settings })),
]

/** The settings of an environment; throws a StartupError that lists every one that is wrong. */
export const readConfig = (env: Readonly<Record<string, string | undefined>>): GivenSettings => {
  const read = readSettings(
    settingGroups().map(group => group.settings),
    env,
  )
  const unknown = Object.keys(env).filter(
    variable =>
      variable.startsWith("SVC_") && !read.variables.has(variable) && !CLIENT_VARIABLES.has(variable),
  )
  const wrong = [...read.problems, ...unknown.map(variable => `${variable} is not a setting`)]
  if (wrong.length > 0)
    throw new StartupError(
      `The settings are not valid: ${wrong.join("; ")}.`,
      "See docs/generated/configuration.md.",
    )
  return { ...read.of(settings), of: read.of }
}

/** Names of every address of this machine, or of itself only, for which `localhost` is the name that works. */
const LOCAL_HOSTS: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "0.0.0.0", "::", "localhost"])

/** Fills in what only a taken port decides. */
export const configAt = (given: GivenSettings, port: number): Config => {
  const { host } = given
  const name = LOCAL_HOSTS.has(host) ? "localhost" : isIP(host) === 6 ? `[${host}]` : host
  return {
    ...given,
    port,
    isAnyPort: given.port === 0,
    baseUrl: given.baseUrl ?? `http://${name}:${port}`,
  }
}

/** What modules may know of it. */
export const installationOf = (config: Config): Installation => ({
  baseUrl: config.baseUrl,
  host: config.host,
  port: config.port,
  // Where any port will do, the one after it may be somebody else's.
  portAfter: count => (config.isAnyPort ? 0 : config.port + count),
  dataDir: config.dataDir,
  mode: config.mode,
  runAs: config.runAs,
  dnsServers: config.dnsServers,
  outboundAllow: config.outboundAllow,
  trustedProxies: config.trustedProxies,
})

/** Read by the command line, and often set in the same shell. */
const CLIENT_VARIABLES: ReadonlySet<string> = new Set(["SVC_TOKEN", "SVC_API_URL", "SVC_PROJECT"])

/** Hashing passwords keeps a processor busy; more at once than there are would only slow each down. */
export const PASSWORD_HASHES_MAX = availableParallelism()
