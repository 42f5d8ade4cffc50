import type { Socket } from "node:net"
import type { Clock } from "../../../kernel/clock.ts"
import type { Database } from "../../../kernel/db/database.ts"
import type { Logger } from "../../../kernel/log.ts"
import type { Accept } from "../../../kernel/tcp-listener.ts"
import type { Hosts } from "../../../services/hosts/hosts.ts"
import type { Fleet } from "../../../services/workloads/fleet.ts"
import { awaitStart } from "../../../services/workloads/served.ts"
import type { Live } from "../../../services/workloads/workload.ts"
import type { Needs } from "../needs.ts"
import type { ComputerItem } from "../policy.ts"
import type { ComputerRow } from "../store.ts"
import { type AdmissionLimits, createAdmission } from "./admission.ts"
import type { ConnectionNeeds } from "./connection.ts"
import { toOpenSshKey } from "./host-key.ts"
import { fingerprintOf, type LoggedIn } from "./login.ts"
import type { SshSettings } from "./settings.ts"
import { findByKey } from "./store.ts"

/** How computers are reached with ssh: by their names, with the keys of their records. */
export interface SshGateway extends Disposable {
  readonly accept: Accept
  /** Ends connections to the computer whose keys are none of these. */
  keysChanged(computerId: string, keys: readonly string[]): void
}

export interface GatewayNeeds extends Pick<Needs, "audit"> {
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

/** What speaks ssh is loaded for the first who comes. */
export const createSshGateway = (needs: GatewayNeeds): SshGateway => {
  const { settings, database, fleet, log } = needs
  const admission = createAdmission(LIMITS)
  const register = createRegister()
  const sockets = new Set<Socket>()
  let isClosed = false
  const hostKey = toOpenSshKey(settings.hostKey)
  const connectionNeeds: ConnectionNeeds = {
    ...{ hostKey, loginMsMax: LOGIN_MS_MAX, revision: register.revision, register: register.register },
    find: (login, key) => findByKey(database.db, login, key),
    record: createRecord(needs),
    reach: createReach(needs),
    hold: live => fleet.hold(live),
    failed: error => log.warn({ err: error }, "checking an ssh login failed"),
  }

  const serve = async (socket: Socket): Promise<void> => {
    const admitted = isClosed ? undefined : admission.admit(socket.remoteAddress ?? "")
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
      log.error({ err: error }, "serving an ssh connection failed; connection closed")
      socket.destroy()
    }
  }

  return {
    accept: socket => void serve(socket),
    keysChanged: register.keysChanged,
    [Symbol.dispose]() {
      isClosed = true
      for (const socket of sockets) socket.destroy()
    },
  }
}
