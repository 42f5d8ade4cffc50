/**
 * The network of workloads. One namespace is the gateway of them all; each has a cable to it that begins in its own
 * namespace, so the machine sees one device alone. Rules between a workload and the gateway say what it may reach, rules
 * between the gateway and the machine that it is public; names are resolved by the platform. All of it ends with
 * the processes that hold it: after `kill -9` there is nothing to clean up.
 */
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { isIPv4 } from "node:net"
import { PortError } from "../../port-error.ts"
import { words } from "../guest/frames.ts"
import type { NetworkPolicy, WorkloadStats } from "../port.ts"
import { type Gateway, openGateway } from "./gateway.ts"
import {
  closedTables,
  devicesNamed,
  notForwarding,
  outerDevices,
  packetBytes,
  setForwarding,
} from "./machine.ts"
import { createNft, type Nft } from "./nft.ts"
import { type Reach, reachOf } from "./policy.ts"
import { createWorkloadResolver } from "./resolver.ts"
import {
  allowedAddresses,
  GATEWAY_TABLE,
  gatewayRules,
  machineRules,
  withoutWorkload,
  workloadRules,
} from "./rules.ts"

export type FilteredPolicy = Extract<NetworkPolicy, { readonly mode: "filtered" }>

/** A workload's part of the network. To dispose of it never rejects. */
export interface Link extends AsyncDisposable {
  readonly address: string
  /** The next hop to everywhere, on no network of the workload's own; also its name server. */
  readonly gateway: string
  /** For `Link::begin` (link.pl). */
  readonly words: Buffer
  /** For a driver whose workload's first process others start: gives its namespace the cable. */
  joinProcess(pid: number): Promise<void>
  stats(): Promise<WorkloadStats["network"]>
}

export interface WorkloadNetwork extends AsyncDisposable {
  /** What is weaker than it could be, for the operator. */
  readonly reasons: readonly string[]
  /** The rules are in force when it resolves. An address that another workload has is `unavailable`. */
  take(policy: FilteredPolicy): Promise<Link>
}

export interface NetworkOptions {
  readonly perl: string
  readonly nft: string
  /** `address` or `address:port`; none: the machine's. */
  readonly nameServers: readonly string[]
  readonly log: (line: string) => void
}

/** Of the machine's device, and of the table of rules there. */
const DEVICE_PREFIX = "svc"
/** Workloads see these alone, so it does not matter who else has them. */
const GATEWAY_ADDRESS = "10.128.0.1"
/** The lowest and the number of addresses for those that ask for none. */
const FIRST_ADDRESS = 0x0a_80_00_02
const ADDRESSES = 65_000

const textOf = (address: number): string => [24, 16, 8, 0].map(shift => (address >>> shift) & 255).join(".")

const numberOf = (address: string): number =>
  address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)

const deviceOf = (address: string): string => `w${numberOf(address).toString(16).padStart(8, "0")}`

const createAddresses = () => {
  const taken = new Set<string>([GATEWAY_ADDRESS])
  let next = 0
  return {
    take(wanted: string | undefined): string {
      if (wanted !== undefined) {
        if (!isIPv4(wanted) || !wanted.startsWith("10."))
          throw new PortError("refused", `${wanted} is no address in 10.0.0.0/8`)
        if (taken.has(wanted))
          throw new PortError("unavailable", `another workload has the address ${wanted}`)
        taken.add(wanted)
        return wanted
      }
      for (let tried = 0; tried < ADDRESSES; tried += 1) {
        const address = textOf(FIRST_ADDRESS + next)
        next = (next + 1) % ADDRESSES
        if (taken.has(address)) continue
        taken.add(address)
        return address
      }
      throw new PortError("unavailable", "there are no addresses left for another workload")
    },
    free: (address: string) => void taken.delete(address),
  }
}

/** The cable's other end counts, so what it received was sent by the workload (proc(5), /proc/pid/net/dev). */
const countedBy = async (pid: number, device: string): Promise<WorkloadStats["network"]> => {
  const table = await readFile(`/proc/${pid}/net/dev`, "utf8")
  const row = table.split("\n").find(line => line.trimStart().startsWith(`${device}:`))
  const counts = row?.split(":")[1]?.trim().split(/\s+/) ?? []
  return { sentBytes: Number(counts[0] ?? 0), receivedBytes: Number(counts[8] ?? 0) }
}

interface Member {
  readonly reach: Reach
  allow(addresses: readonly string[], seconds: number): Promise<void>
}

const createLinks = (
  gateway: Gateway,
  nft: Nft,
  members: Map<string, Member>,
  packets: number,
  log: (line: string) => void,
): Pick<WorkloadNetwork, "take"> => {
  const addresses = createAddresses()
  const leaving = new Map<string, Promise<void>>()

  const leave = async (address: string, rules: string): Promise<void> => {
    try {
      await nft.run(rules)
      await gateway.forget(address)
      addresses.free(address)
    } catch (error) {
      // Nobody else gets the address, unless all of it has ended.
      if (!nft.hasEnded()) log(String(error))
    } finally {
      leaving.delete(address)
    }
  }

  return {
    async take(policy) {
      const reach = reachOf(policy)
      if (policy.address !== undefined) await leaving.get(policy.address)
      const address = addresses.take(policy.address)
      const device = deviceOf(address)
      try {
        await nft.run(workloadRules(device, address, reach))
      } catch (error) {
        addresses.free(address)
        throw error
      }
      members.set(address, {
        reach,
        allow: (found, seconds) => nft.run(allowedAddresses(device, found, seconds)),
      })
      const link = words(`/proc/${gateway.pid}/ns/net`, device, address, GATEWAY_ADDRESS, String(packets))
      return {
        ...{ address, gateway: GATEWAY_ADDRESS, words: link },
        joinProcess: pid => gateway.join(pid, link),
        stats: () => countedBy(gateway.pid, device),
        async [Symbol.asyncDispose]() {
          if (!members.delete(address)) return
          const left = leave(address, withoutWorkload(device, address, reach))
          leaving.set(address, left)
          await left
        },
      }
    },
  }
}

/** Lets the machine pass on what comes for the gateway. Gives the devices of which only that is passed on. */
const forwardFor = async (device: string, outer: readonly string[], log: (line: string) => void) => {
  const closed = await notForwarding(outer)
  await setForwarding([...(await notForwarding([device])), ...closed], true)
  if (closed.length > 0) log(`${closed.join(", ")} forward packets now, for workloads alone`)
  return {
    closed,
    async [Symbol.asyncDispose]() {
      const others = (await devicesNamed(DEVICE_PREFIX)).filter(name => name !== device)
      if (others.length === 0) await setForwarding(closed, false).catch(() => undefined)
    },
  }
}

interface OpenNetwork extends WorkloadNetwork {
  readonly hasEnded: () => boolean
}

const openOnce = async (options: NetworkOptions): Promise<OpenNetwork> => {
  const { perl, nft, nameServers, log } = options
  await using opened = new AsyncDisposableStack()
  const members = new Map<string, Member>()
  const resolver = opened.use(createWorkloadResolver(address => members.get(address), nameServers))
  const device = `${DEVICE_PREFIX}${randomBytes(4).toString("hex")}`
  const outer = await outerDevices()
  const packets = await packetBytes(outer)
  const gateway = opened.use(
    await openGateway({
      ...{ perl, nft, device, log, packetBytes: packets },
      ...{ address: GATEWAY_ADDRESS, answer: question => resolver.answer(question) },
    }),
  )
  const rules = opened.use(createNft(gateway.nft.gateway, GATEWAY_TABLE))
  const machine = opened.use(createNft(gateway.nft.machine, `inet ${device}`))
  await rules.run(gatewayRules(GATEWAY_ADDRESS))
  const forwarding = opened.use(await forwardFor(device, outer, log))
  await machine.run(machineRules(device, gateway.inside, forwarding.closed))
  const closed = await closedTables(nft)
  const reasons = closed.map(
    name =>
      `the firewall of this machine (${name}) drops what it does not know: workloads reach nothing until it forwards what comes in or goes out by devices named ${DEVICE_PREFIX}*`,
  )
  let hasEnded = false
  gateway.ended.then(() => {
    hasEnded = true
  })
  const kept = opened.move()
  return {
    reasons,
    hasEnded: () => hasEnded,
    ...createLinks(gateway, rules, members, packets, log),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/**
 * Rejects with a PortError that says what the machine lacks. A gateway that dies takes the network of those with it that
 * run; who starts after it has another one.
 */
export const openNetwork = async (options: NetworkOptions): Promise<WorkloadNetwork> => {
  const { reasons, ...first } = await openOnce(options)
  let current: Promise<Omit<OpenNetwork, "reasons">> = Promise.resolve(first)
  const renew = async (ended: Omit<OpenNetwork, "reasons">) => {
    options.log("the gateway of workloads has ended, and another one begins")
    await ended[Symbol.asyncDispose]()
    return await openOnce(options)
  }
  return {
    reasons,
    async take(policy) {
      const known = current
      const network = await known
      if (!network.hasEnded()) return await network.take(policy)
      if (current === known) {
        current = renew(network)
        // Where it does not go, the next one tries again.
        current.catch(() => {
          current = known
        })
      }
      return await (await current).take(policy)
    },
    async [Symbol.asyncDispose]() {
      await (await current.catch(() => undefined))?.[Symbol.asyncDispose]()
    },
  }
}
