import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Logger } from "../../kernel/log.ts"
import { errorCode, StartupError } from "../../kernel/startup-error.ts"
import { DATABASE_NAME, type Endpoint, type EnginePort } from "../../ports/engine/port.ts"
import type { Compute } from "../databases/compute.ts"
import type { Directory, ReadyBranch } from "../databases/directory.ts"
import { WIRE_CONNECTIONS_MAX } from "../databases/limits.ts"
import type { PostgresSettings } from "../databases/postgres-settings.ts"
import { ownCertificate } from "../../core/postgres/certificate.ts"
import { SQLSTATE, WireRefusal, wrongPassword } from "./wire/error-response.ts"
import { isLoopbackHost } from "./wire/greeting.ts"
import type { WireCall, WireCertificate, WireTarget } from "./wire/messages.ts"
import { openWire, type Wire } from "./wire/wire.ts"

export interface DoorNeeds {
  readonly settings: PostgresSettings
  readonly engine: EnginePort
  readonly directory: Directory
  readonly compute: Compute
  readonly log: Logger
  readonly calls: (calls: readonly WireCall[], branchOf: (id: string) => ReadyBranch | undefined) => void
}

const targetOf = ({ host, port, wakeMs, tls }: Endpoint): WireTarget => {
  const common = { wakeMs, connectionsMax: WIRE_CONNECTIONS_MAX }
  if (host.startsWith("/")) return { ...common, socketPath: join(host, `.s.PGSQL.${port}`) }
  return { ...common, host, port, ...(tls && { tls }) }
}

const ownOf = ({ certFile, keyFile, host, certificateDir, authoritySecret }: PostgresSettings) =>
  certFile === undefined || keyFile === undefined
    ? ownCertificate({ folder: certificateDir, host, authoritySecret })
    : undefined

const certificateOf = async (settings: PostgresSettings): Promise<WireCertificate> => {
  const { certFile = "", keyFile = "" } = settings
  const own = await ownOf(settings)
  if (own) return { cert: own.cert, key: own.key }
  return { cert: await readFile(certFile, "utf8"), key: await readFile(keyFile, "utf8") }
}

/** Whether who comes to the host of connection strings is turned away without TLS. */
export const isTlsRequired = ({ host, requireTls }: PostgresSettings): boolean =>
  requireTls === "always" || (requireTls === "remote" && !isLoopbackHost(host))

/** What clients trust to check the port's certificate; null where that is the operator's own. */
export const authorityOf = async (settings: PostgresSettings): Promise<string | null> =>
  (await ownOf(settings))?.ca ?? null

/** Branches that had a connection lately, for what comes in about them later. */
const KNOWN_MAX = 1_000

/** The PostgreSQL port in front of all tenant databases. */
export const openDoor = async (needs: DoorNeeds): Promise<Wire> => {
  const { settings, engine, directory, compute, log } = needs
  const known = new Map<string, ReadyBranch>()

  const remember = (branch: ReadyBranch) => {
    known.delete(branch.branchId)
    known.set(branch.branchId, branch)
    const [oldest] = known.keys()
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest)
  }

  /** Works on a branch's server while it is held awake. */
  const withServer = async <Result>(
    { branchId, user }: { branchId: string; user: string },
    work: (branch: ReadyBranch, endpoint: Endpoint) => Result | Promise<Result>,
  ): Promise<Result> => {
    const branch = await directory.findById(branchId)
    if (!branch) throw wrongPassword(user)
    remember(branch)
    try {
      using lease = await compute.acquire(branch)
      return await work(branch, lease.endpoint)
    } catch (error) {
      log.warn({ err: error, branch: branch.branchId }, "resuming a suspended database failed")
      throw new WireRefusal({
        sqlstate: SQLSTATE.cannotConnectNow,
        message: `the database "${DATABASE_NAME}" cannot be started now`,
        hint: "Try again in a few seconds.",
      })
    }
  }

  try {
    return await openWire({
      host: settings.bindHost,
      port: settings.bindPort,
      requireTls: settings.requireTls,
      tls: () => certificateOf(settings),
      log,
      open: request => withServer(request, (_branch, endpoint) => targetOf(endpoint)),
      verifier: engine.capabilities.verifiers
        ? request => withServer(request, ({ volume }) => engine.verifierOf(volume, request.user))
        : undefined,
      activity(events) {
        for (const { branchId, connectionId, kind } of events) {
          const state =
            kind === "busy" || kind === "listening" ? "busy" : kind === "closed" ? "closed" : "open"
          compute.wire(branchId, connectionId, state)
        }
      },
      calls: calls => needs.calls(calls, id => known.get(id)),
    })
  } catch (error) {
    if (errorCode(error) !== "EADDRINUSE") throw error
    throw new StartupError(
      `Svc cannot listen on ${settings.bindHost}:${settings.bindPort} for PostgreSQL's protocol: something else does.`,
      "Stop what listens there, or choose another port through SVC_POSTGRES_PORT.",
      { cause: error },
    )
  }
}
