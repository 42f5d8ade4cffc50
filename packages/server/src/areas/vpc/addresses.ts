/** IPv4 ranges and addresses of private networks, as numbers. */
import { randomInt } from "node:crypto"

export interface Range {
  readonly first: number
  readonly last: number
  readonly prefix: number
}

const CIDR = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\/(\d{1,2}))?$/
const WITH_ZEROS = /(?:^|[./])0\d/

/** A single address is a /32. Undefined for what is no range, or has bits set behind its prefix. */
export const readRange = (text: string): Range | undefined => {
  const [, ...parts] = CIDR.exec(text) ?? []
  const numbers = parts.slice(0, 4).map(Number)
  const prefix = parts[4] === undefined ? 32 : Number(parts[4])
  if (parts.length === 0 || WITH_ZEROS.test(text) || prefix > 32 || numbers.some(part => part > 255))
    return undefined
  const first = numbers.reduce((sum, part) => sum * 256 + part, 0)
  const size = 2 ** (32 - prefix)
  return first % size === 0 ? { first, last: first + size - 1, prefix } : undefined
}

export const addressText = (address: number): string =>
  [24, 16, 8, 0].map(shift => (address >>> shift) & 255).join(".")

export const rangeText = ({ first, prefix }: Range): string => `${addressText(first)}/${prefix}`

export const overlaps = (a: Range, b: Range): boolean => a.first <= b.last && b.first <= a.last

export const contains = (outer: Range, inner: Range): boolean =>
  outer.first <= inner.first && inner.last <= outer.last

export const rangesOf = (texts: readonly string[]): Range[] => texts.flatMap(text => readRange(text) ?? [])

/** RFC 1918. */
const PRIVATE = rangesOf(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"])

export const isPrivate = (range: Range): boolean => PRIVATE.some(block => contains(block, range))

const TRIES = 1_000
const OFFERED_PREFIX = 24
/** /24 networks of 10.0.0.0/8. */
const OFFERED = 65_536
const OFFERED_FIRST = 10 * 2 ** 24

/** A free /24 of 10.0.0.0/8, picked at random: people use low ones at home. */
export const freeRange = (taken: readonly Range[]): Range | undefined => {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const first = OFFERED_FIRST + randomInt(OFFERED) * 256
    const range = { first, last: first + 255, prefix: OFFERED_PREFIX }
    if (!taken.some(other => overlaps(range, other))) return range
  }
  return undefined
}

/** The gateway has the first address of its network. */
export const gatewayOf = (range: Range): string => addressText(range.first + 1)

/** Whether a peer may have it: not the network's own address, its gateway's or its broadcast address. */
export const isForPeers = (range: Range, address: number): boolean =>
  address > range.first + 1 && address < range.last

/** The lowest address that no peer has. */
export const freeAddress = (range: Range, taken: ReadonlySet<string>): string | undefined => {
  for (let address = range.first + 2; address < range.last; address += 1)
    if (!taken.has(addressText(address))) return addressText(address)
  return undefined
}
