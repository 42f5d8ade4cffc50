/** Answers what workloads ask of name servers: as much as their policies allow, and no address that they may not reach. */
import { createSocket } from "node:dgram"
import { getServers, Resolver } from "node:dns/promises"
import { createAddressRules } from "../../../kernel/outbound/addresses.ts"
import { type Address, answerOf, codes, type Question, readQuestion, types } from "./dns.ts"
import type { GatewayQuestion } from "./gateway.ts"
import type { Reach } from "./policy.ts"

/** A workload that asks. */
export interface Asker {
  readonly reach: Reach
  /** Lets it reach these addresses for so many seconds, before it is told them. */
  allow(addresses: readonly string[], seconds: number): Promise<void>
}

export interface WorkloadResolver extends Disposable {
  answer(question: GatewayQuestion): Promise<Buffer | undefined>
}

/** As many fit into the 512 bytes of a datagram with the longest name. */
const ADDRESSES_MAX = 14
/** An answer is asked for again after at most so long. */
const TTL_SECONDS_MAX = 300
/** A program may connect some time after it asked. */
const ALLOWED_SECONDS_MIN = 60
const PENDING_EACH_MAX = 64
const TIMEOUT_MS = 3_000
/** What is asked of others as it came; an answer of theirs holds no address that anybody could be led to. */
const forwarded: ReadonlySet<number> = new Set([
  ...[types.NS, types.CNAME, types.SOA, types.PTR, types.MX, types.TXT, types.SRV, types.CAA],
])

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : ""

/** The machine's own name server; `address` or `address:port`, and IPv6 in brackets where it has one. */
const serverOf = (text: string): { host: string; port: number } => {
  const ported = /^(?:\[([^\]]+)\]|([\d.]+)):(\d+)$/.exec(text)
  return ported ? { host: ported[1] ?? ported[2] ?? "", port: Number(ported[3]) } : { host: text, port: 53 }
}

/** One datagram each way; who sends another answer than that of whom was asked is not heard. */
const forward = (message: Buffer, server: string): Promise<Buffer | undefined> => {
  const { host, port } = serverOf(server)
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4")
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>()
  const timer = setTimeout(resolve, TIMEOUT_MS, undefined)
  socket.on("error", () => resolve(undefined))
  socket.on("message", answer => {
    if (answer.length >= 12 && answer.readUInt16BE(0) === message.readUInt16BE(0)) resolve(answer)
  })
  socket.connect(port, host, () => socket.send(message))
  return promise.finally(() => {
    clearTimeout(timer)
    socket.close()
  })
}

/** `askerAt` knows workloads by their addresses, which the gateway has checked. `servers`: none are the machine's. */
export const createWorkloadResolver = (
  askerAt: (address: string) => Asker | undefined,
  servers: readonly string[],
): WorkloadResolver => {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const judge = createAddressRules([])
  const pending = new Map<string, number>()

  const addressesFor = async (question: Question, { reach, allow }: Asker): Promise<Buffer> => {
    const found = await resolver.resolve4(question.name, { ttl: true })
    const reachable = found.filter(
      ({ address }) => judge(address) === "public" && !reach.deniesAddress(address),
    )
    // A name that leads inside: what it is good for is not here.
    if (reachable.length === 0) return answerOf(question, codes.refused)
    const addresses: Address[] = reachable
      .slice(0, ADDRESSES_MAX)
      .map(({ address, ttl }) => ({ address, ttl: Math.min(ttl, TTL_SECONDS_MAX) }))
    const seconds = Math.max(ALLOWED_SECONDS_MIN, ...addresses.map(({ ttl }) => ttl))
    if (reach.allow !== null)
      await allow(
        addresses.map(({ address }) => address),
        seconds,
      )
    return answerOf(question, codes.none, addresses)
  }

  const answerTo = async (question: Question, asker: Asker, message: Buffer): Promise<Buffer | undefined> => {
    const { name, type } = question
    if (!asker.reach.allowsName(name)) return answerOf(question, codes.refused)
    // RFC 6761: it is nobody's to resolve.
    if (/(^|\.)localhost$/.test(name)) return answerOf(question, codes.missing)
    if (type === types.A) return await addressesFor(question, asker)
    const [server] = servers.length > 0 ? servers : getServers()
    if (asker.reach.allow === null && forwarded.has(type) && server) return await forward(message, server)
    // There is no IPv6, and of names that are allowed nothing but where they are.
    return answerOf(question, codes.none)
  }

  return {
    async answer({ address, message }) {
      const asker = askerAt(address)
      const question = readQuestion(message)
      if (!asker || !question) return undefined
      const now = pending.get(address) ?? 0
      if (now >= PENDING_EACH_MAX) return answerOf(question, codes.failed)
      pending.set(address, now + 1)
      try {
        return await answerTo(question, asker, message)
      } catch (error) {
        const code = codeOf(error)
        if (code === "ENOTFOUND") return answerOf(question, codes.missing)
        return answerOf(question, code === "ENODATA" ? codes.none : codes.failed)
      } finally {
        const left = (pending.get(address) ?? 1) - 1
        if (left > 0) pending.set(address, left)
        else pending.delete(address)
      }
    },
    [Symbol.dispose]: () => resolver.cancel(),
  }
}
