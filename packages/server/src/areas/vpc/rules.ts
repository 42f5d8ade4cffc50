/** What a network or a peer may be, before anything is stored. */
import { networkInterfaces } from "node:os"
import { fault } from "../../kernel/fault.ts"
import {
  addressText,
  contains,
  freeAddress,
  freeRange,
  isForPeers,
  isPrivate,
  overlaps,
  type Range,
  rangesOf,
  rangeText,
  readRange,
} from "./addresses.ts"

const PREFIX_MIN = 16
const PREFIX_MAX = 29
/** Where workloads have their addresses. */
const WORKLOADS = rangesOf(["10.128.0.0/16"])

const hostRanges = (): Range[] =>
  Object.values(networkInterfaces())
    .flatMap(found => found ?? [])
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .flatMap(({ address, netmask }) => {
      const [own, mask] = [readRange(address), readRange(netmask)]
      if (!own || !mask) return []
      const size = 2 ** 32 - mask.first
      const first = Math.floor(own.first / size) * size
      return [{ first, last: first + size - 1, prefix: 32 - Math.log2(size) }]
    })

/** The range that is asked for, or a free one. `others`: networks of the same project, which a peer may be in as well. */
export const chooseRange = (asked: string | undefined, others: readonly Range[]): Range => {
  const taken = [...others, ...WORKLOADS, ...hostRanges()]
  if (asked === undefined) {
    const free = freeRange(taken)
    if (!free) throw fault("invalid_parameter", { reason: "no /24 of 10.0.0.0/8 is free; give a `cidr`" })
    return free
  }
  const range = readRange(asked)
  if (!range) throw fault("invalid_cidr", { value: asked })
  const problem = problemOf(range, others, taken)
  if (problem !== undefined) throw fault("invalid_parameter", { reason: problem })
  return range
}

const problemOf = (range: Range, others: readonly Range[], taken: readonly Range[]): string | undefined => {
  if (!isPrivate(range)) return "`cidr` must be in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16"
  if (range.prefix < PREFIX_MIN || range.prefix > PREFIX_MAX)
    return `\`cidr\` must be from /${PREFIX_MIN} to /${PREFIX_MAX}`
  const other = others.find(one => overlaps(range, one))
  if (other) return `\`cidr\` overlaps ${rangeText(other)}, another network of the project`
  if (taken.some(one => overlaps(range, one))) return "`cidr` overlaps a range that this installation uses"
  return undefined
}

/** What the other peers of a network have. */
export interface PeerRanges {
  readonly address: string
  readonly allowed_ips: readonly string[]
}

/** The peer's address, and the ranges behind it. */
export const placePeer = (
  network: Range,
  allowedIps: readonly string[],
  others: readonly PeerRanges[],
): { address: string; behind: string[] } => {
  const taken = new Set(others.map(({ address }) => address))
  const elsewhere = rangesOf(others.flatMap(({ allowed_ips }) => allowed_ips))
  const behind: Range[] = []
  let own: string | undefined
  for (const text of allowedIps) {
    const range = readRange(text)
    if (!range) throw fault("invalid_cidr", { value: text })
    if (contains(network, range) && range.prefix === 32 && own === undefined) {
      own = checkAddress(network, range.first, taken)
      continue
    }
    const problem = rangeProblem(range, network, [...elsewhere, ...behind])
    if (problem !== undefined) throw fault("invalid_parameter", { reason: `${text} ${problem}` })
    behind.push(range)
  }
  const address = own ?? freeAddress(network, taken)
  if (address === undefined) throw fault("invalid_parameter", { reason: "the network has no free address" })
  return { address, behind: behind.map(rangeText) }
}

const checkAddress = (network: Range, address: number, taken: ReadonlySet<string>): string => {
  const text = addressText(address)
  if (!isForPeers(network, address))
    throw fault("invalid_parameter", { reason: `${text} is not an address for a peer` })
  if (taken.has(text)) throw fault("invalid_parameter", { reason: `another peer has the address ${text}` })
  return text
}

const rangeProblem = (range: Range, network: Range, taken: readonly Range[]): string | undefined => {
  if (!isPrivate(range)) return "is not a private range"
  if (overlaps(range, network)) return "overlaps the network itself"
  if (taken.some(other => overlaps(range, other))) return "overlaps a range of another peer"
  return undefined
}

const ENDPOINT = /^(?:\[([0-9a-f:]+)\]|([\d.]+)):(\d{1,5})$/i

/** The gateway sends packets there, so it must be an address that requests may go to as well. */
export const checkEndpoint = (
  endpoint: string | undefined,
  urlProblem: (url: string) => string | undefined,
): void => {
  if (endpoint === undefined) return
  const port = Number(ENDPOINT.exec(endpoint)?.[3] ?? 0)
  const problem =
    port < 1 || port > 65_535 ? "it is not an IP address with a port" : urlProblem(`https://${endpoint}/`)
  if (problem !== undefined) throw fault("invalid_parameter", { reason: `\`endpoint\`: ${problem}` })
}

export const checkDnsServers = (servers: readonly string[]): void => {
  const wrong = servers.find(server => readRange(server)?.prefix !== 32)
  if (wrong !== undefined) throw fault("invalid_parameter", { reason: `${wrong} is not an IPv4 address` })
}
