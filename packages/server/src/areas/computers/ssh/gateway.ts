import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import type { Hosts } from "../../../core/hosts/hosts.ts"
import type { Fleet } from "../../../core/workloads/fleet.ts"
import { awaitStart } from "../../../core/workloads/served.ts"
import type { Live } from "../../../core/workloads/workload.ts"
import type { Clock } from "../../../kernel/clock.ts"
import type { Database } from "../../../kernel/db/database.ts"
import type { Logger } from "../../../kernel/log.ts"
import { errorCode, StartupError } from "../../../kernel/startup-error.ts"
import type { Services, SshSettings } from "../../../services.ts"
import type { ComputerItem } from "../items.ts"
import type { ComputerRow } from "../store.ts"
import { type AdmissionLimits, createAdmission } from "./admission.ts"
import type { ConnectionNeeds } from "./connection.ts"
import { toOpenSshKey } from "./host-key.ts"
import { fingerprintOf, type LoggedIn } from "./login.ts"
import { findByKey } from "./store.ts"

/** The port by which computers are reached with ssh: by their names, with the keys of their records. */
export interface SshGateway extends AsyncDisposable {
  readonly port: number
  /** Ends connections to the computer whose keys are none of these. */
  keysChanged(computerId: string, keys: readonly string[]): void
}

export interface GatewayNeeds extends Pick<Services, "audit"> {
  readonly settings: SshSettings
  readonly database: Database
  readonly hosts: Hosts
  readonly clock: Clock
  readonly log: Logger
  readonly fleet: Fleet<ComputerItem>
}

const LIMITS: AdmissionLimits = {
  connectionsMax: 2_000,
  ofAddressMax: 200,
  strangersMax: 100,
  strangersOfAddressMax: 20,
}
const LOGIN_MS_MAX = 30_000

const blobOf = (line: string): Buffer => Buffer.from(line.split(" ")[1] ?? "", "base64")

/** Connections by their computer. */
const createRegister = () => {
  const open = new Set<{ readonly computerId: string; readonly key: Buffer; readonly end: () => void }>()
  let revision = 0
  return {
    revision: () => revision,
    register({ computer, key, revision: seen }: LoggedIn, end: () => void): Disposable {
      if (seen !== revision) throw new Error("keys were taken from computers meanwhile")
      const entry = { computerId: computer === "several" ? "" : computer.id, key, end }
      open.add(entry)
      return { [Symbol.dispose]: () => void open.delete(entry) }
    },
    keysChanged(computerId: string, lines: readonly string[]) {
      revision += 1
      const keys = lines.map(blobOf)
      for (const { end, ...entry } of open) {
        const isRevoked = entry.computerId === computerId && !keys.some(key => key.equals(entry.key))
        if (isRevoked) end()
      }
    },
  }
}

const createRecord =
  ({ audit, database, clock }: Pick<GatewayNeeds, "audit" | "database" | "clock">) =>
  async (
    { computer, key, login }: LoggedIn,
    { address, name }: { readonly address: string; readonly name: string },
  ): Promise<void> => {
    if (computer === "several") return
    const line = computer.ssh_keys.find(candidate => blobOf(candidate).equals(key)) ?? ""
    await audit.append(database.db, {
      ...{ tenantId: computer.organization_id, action: "computers.ssh", outcome: "success" },
      occurredAt: new Date(clock.now()),
      actor: { type: "ssh_key", id: fingerprintOf(key), name: line.split(" ").slice(2).join(" ") },
      targets: [{ type: "computer", id: computer.id, name: computer.name }],
      context: { ip: address, user_agent: name, project_id: computer.project_id },
      metadata: { user: login.user },
    })
  }

const createReach =
  ({ fleet, hosts }: Pick<GatewayNeeds, "fleet" | "hosts">) =>
  async ({ id, host_id }: ComputerRow, signal: AbortSignal): Promise<Live<ComputerItem> | string> => {
    if (host_id !== hosts.id) return "the computer is on another machine of this cloud, which must be asked"
    const ready = fleet.ready(id)
    const live = ready instanceof Promise ? await awaitStart(ready, signal) : ready
    return live ?? `the computer does not run; to start it: svc computers start ${id}`
  }

const listen = async (server: Server, { bindHost, bindPort }: SshSettings): Promise<number> => {
  server.listen({ host: bindHost, port: bindPort })
  try {
    await once(server, "listening")
  } catch (error) {
    if (errorCode(error) !== "EADDRINUSE") throw error
    throw new StartupError(
      `Svc cannot listen on ${bindHost}:${bindPort} for ssh: something else does.`,
      "Stop what listens there, or choose another port through SVC_SSH_PORT; off: none.",
      { cause: error },
    )
  }
  const address = server.address()
  return typeof address === "object" && address ? address.port : bindPort
}

/** Listens at once; what speaks ssh is loaded for the first who comes. */
export const openSshGateway = async (needs: GatewayNeeds): Promise<SshGateway> => {
  const { settings, database, fleet, log } = needs
  const admission = createAdmission(LIMITS)
  const register = createRegister()
  const sockets = new Set<Socket>()
  const hostKey = toOpenSshKey(settings.hostKey)
  const connectionNeeds: ConnectionNeeds = {
    ...{ hostKey, loginMsMax: LOGIN_MS_MAX, revision: register.revision, register: register.register },
    find: (login, key) => findByKey(database.db, login, key),
    record: createRecord(needs),
    reach: createReach(needs),
    hold: live => fleet.hold(live),
    failed: error => log.warn({ err: error }, "an ssh login could not be checked"),
  }

  const accept = async (socket: Socket): Promise<void> => {
    socket.on("error", () => undefined)
    const admitted = admission.admit(socket.remoteAddress ?? "")
    if (!admitted) return void socket.destroy()
    sockets.add(socket)
    socket.once("close", () => {
      sockets.delete(socket)
      admitted[Symbol.dispose]()
    })
    try {
      const { serveConnection } = await import("./connection.ts")
      if (!socket.destroyed) serveConnection(socket, admitted, connectionNeeds)
    } catch (error) {
      log.error({ err: error }, "an ssh connection cannot be served")
      socket.destroy()
    }
  }

  const server = createServer({ noDelay: true }, socket => void accept(socket))
  const port = await listen(server, settings)
  server.on("error", error => log.warn({ err: error }, "the ssh port cannot take a connection"))
  return {
    port,
    keysChanged: register.keysChanged,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await Promise.resolve()
    },
  }
}
