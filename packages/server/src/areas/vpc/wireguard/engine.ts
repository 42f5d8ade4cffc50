/**
 * Gateways of private networks on this host. Each has a network namespace of its own, which holds its WireGuard device and
 * nothing else: networks cannot reach each other, nor the host, also where their ranges are the same. The device is made in
 * the host's namespace and then moved, because its UDP socket stays where it was made.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { readdir } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { CHILD_ENVIRONMENT } from "../../../kernel/db/embedded/processes.ts"
import { attempt, command } from "./commands.ts"
import { type GatewayConfig, renderGateway } from "./config.ts"
import type { EngineKind } from "./probe.ts"

export interface Gateway extends GatewayConfig {
  readonly id: string
  /** The gateway's address with the prefix of the network. */
  readonly address: string
  readonly mtu: number
  /** Ranges behind peers. */
  readonly routes: readonly string[]
}

export interface PeerCounters {
  readonly latestHandshakeSeconds: number
  readonly receivedBytes: number
  readonly sentBytes: number
}

export interface WireGuardEngine {
  readonly kind: EngineKind
  /** Makes the gateway as described, whatever there was before. */
  apply(gateway: Gateway): Promise<void>
  /** Ends it, if there is any. */
  remove(id: string): Promise<void>
  /** By public key. */
  counters(id: string): Promise<ReadonlyMap<string, PeerCounters>>
  /** The networks that have a namespace here; `kill -9` leaves them running. */
  list(): Promise<string[]>
}

const NAMESPACES = "/run/netns"
const SOCKETS = "/var/run/wireguard"
const START_TRIES = 100
const START_PAUSE_MS = 50

const hashOf = (text: string, characters: number): string =>
  createHash("sha256").update(text).digest("hex").slice(0, characters)

/** Names of devices have at most 15 characters. */
export const deviceOf = (id: string): string => `svcv${hashOf(id, 11)}`

const filesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

/** `hostId` keeps the namespaces of two installations on one machine apart. */
export const createWireGuardEngine = (kind: EngineKind, hostId: string): WireGuardEngine => {
  const prefix = `svc-vpc-${hashOf(hostId, 8)}-`
  const namespaceOf = (id: string): string => `${prefix}${id}`
  const processes = new Map<string, ChildProcess>()

  /** A program that answers at its socket; it outlives this process, as devices of the kernel do. */
  const startProgram = async (id: string, device: string) => {
    const child = spawn("wireguard-go", ["-f", device], {
      env: { ...CHILD_ENVIRONMENT, LOG_LEVEL: "silent" },
      detached: true,
      stdio: "ignore",
    })
    child.unref()
    child.once("error", () => undefined)
    child.once("exit", () => {
      if (processes.get(id) === child) processes.delete(id)
    })
    processes.set(id, child)
    for (let tries = 0; tries < START_TRIES; tries += 1) {
      if (child.exitCode !== null || child.signalCode !== null) break
      if ((await filesIn(SOCKETS)).includes(`${device}.sock`)) return
      await delay(START_PAUSE_MS)
    }
    throw new Error("wireguard-go did not start")
  }

  const isUp = (id: string): Promise<boolean> =>
    attempt("ip", ["netns", "exec", namespaceOf(id), "wg", "show", deviceOf(id), "public-key"])

  const configure = (id: string, inNamespace: boolean, config: GatewayConfig) => {
    const args = ["wg", "syncconf", deviceOf(id), "/dev/stdin"]
    const [program = "", ...rest] = inNamespace ? ["ip", "netns", "exec", namespaceOf(id), ...args] : args
    return command(program, rest, renderGateway(config))
  }

  const create = async (gateway: Gateway) => {
    const { id } = gateway
    const device = deviceOf(id)
    const namespace = namespaceOf(id)
    // A process that died between making and moving it left it here.
    await attempt("ip", ["link", "del", device])
    if (!(await filesIn(NAMESPACES)).includes(namespace)) await command("ip", ["netns", "add", namespace])
    await attempt("ip", ["-n", namespace, "link", "del", device])
    if (kind === "kernel") await command("ip", ["link", "add", device, "type", "wireguard"])
    else await startProgram(id, device)
    await configure(id, false, gateway)
    await command("ip", ["link", "set", device, "netns", namespace])
    await command("ip", ["-n", namespace, "link", "set", "lo", "up"])
    // Peers reach each other through the gateway.
    const forwarding = "/proc/sys/net/ipv4/ip_forward"
    await command("ip", ["netns", "exec", namespace, "tee", forwarding], "1")
  }

  const setRoutes = async (id: string, wanted: readonly string[]) => {
    const at = ["-n", namespaceOf(id)]
    const device = deviceOf(id)
    const shown = await command("ip", [...at, "-j", "route", "show", "dev", device, "proto", "static"])
    const present = (JSON.parse(shown || "[]") as { dst: string }[]).map(({ dst }) => dst)
    const plain = wanted.map(range => range.replace(/\/32$/, ""))
    for (const range of present.filter(one => !plain.includes(one)))
      await attempt("ip", [...at, "route", "del", range, "dev", device])
    for (const range of plain.filter(one => !present.includes(one)))
      await command("ip", [...at, "route", "replace", range, "dev", device, "proto", "static"])
  }

  const remove = async (id: string) => {
    const namespace = namespaceOf(id)
    const device = deviceOf(id)
    await attempt("ip", ["-n", namespace, "link", "del", device])
    await attempt("ip", ["link", "del", device])
    processes.get(id)?.kill("SIGTERM")
    processes.delete(id)
    if ((await filesIn(NAMESPACES)).includes(namespace)) await command("ip", ["netns", "del", namespace])
  }

  return {
    kind,
    async apply(gateway) {
      const { id, address, mtu, routes } = gateway
      if (await isUp(id)) await configure(id, true, gateway)
      else await create(gateway)
      const at = ["-n", namespaceOf(id)]
      const device = deviceOf(id)
      await command("ip", [...at, "address", "replace", address, "dev", device])
      await command("ip", [...at, "link", "set", device, "mtu", String(mtu), "up"])
      await setRoutes(id, routes)
    },
    remove,
    async counters(id) {
      const dump = ["netns", "exec", namespaceOf(id), "wg", "show", deviceOf(id), "dump"]
      const [, ...lines] = (await command("ip", dump)).trim().split("\n")
      return new Map(
        lines.map(line => {
          const [key = "", , , , handshake, received, sent] = line.split("\t")
          const counters = {
            latestHandshakeSeconds: Number(handshake),
            receivedBytes: Number(received),
            sentBytes: Number(sent),
          }
          return [key, counters]
        }),
      )
    },
    async list() {
      const names = await filesIn(NAMESPACES)
      return names.filter(name => name.startsWith(prefix)).map(name => name.slice(prefix.length))
    },
  }
}
