/**
 * Clients that share server connections, each for the length of a transaction. Their passwords are checked here, against
 * what the server keeps of them, and connections are opened with the keys that the proofs reveal.
 */

import { randomBytes, randomInt } from "node:crypto"
import type { Socket } from "node:net"
import type { Clock } from "../../../../kernel/clock.ts"
import { every } from "../../../../kernel/every.ts"
import { WireRefusal, wrongPassword } from "../error-response.ts"
import type { Greeting } from "../greeting.ts"
import type { WireCall } from "../messages.ts"
import { mockChallenge } from "../mock-login.ts"
import { createObserver } from "../observer.ts"
import { farewell } from "../relay.ts"
import type { Route } from "../route.ts"
import { AUTHENTICATION_OK, authentication, message, SASL_FINAL } from "../scram.ts"
import { challengeClient, keysOfProof, parseVerifier, readClientFirst, serverFinal } from "../scram-server.ts"
import type { VerifierRequest } from "../verifiers.ts"
import type { SharedPool } from "./branch-pools.ts"
import { borrow, PooledClient } from "./client.ts"
import { isTracked, type Parameters, splitStartup } from "./parameters.ts"
import { type PoolAddress, Pools, type PoolsHost } from "./pools.ts"
import type { LoginKeys } from "./server-login.ts"

export interface PoolerHost extends PoolsHost {
  readonly clock: Clock
  readonly verifier: (request: VerifierRequest) => Promise<string | undefined>
  readonly mockSecret: () => Promise<Buffer>
  readonly claimKey: (key: string, cancel: () => Promise<void>) => Disposable
  readonly call: (call: WireCall) => void
}

export interface Newcomer {
  readonly greeting: Greeting
  readonly at: Route
  readonly connectionId: string
  readonly clientAddress: string
  readonly protocol: number
  /** Called once when the client is logged in or turned away. */
  readonly settled: () => void
}

const PROTOCOL_3_0 = 0x0003_0000
const SECRET_BYTES = 4
const PACE_EVERY_MS = 1_000
const READY = message("Z", "I")

/** Undefined for a role or a branch that does not exist. */
const readVerifier = async (host: PoolerHost, { branchId, user }: Route) => {
  try {
    const text = await host.verifier({ branchId, user })
    return text === undefined ? undefined : parseVerifier(text)
  } catch (error) {
    if (error instanceof WireRefusal && error.sqlstate === wrongPassword(user).sqlstate) return undefined
    throw error
  }
}

/** Undefined when the client went away; throws a `WireRefusal` for one that is not to get in. */
const logIn = async (host: PoolerHost, { stream, binding }: Greeting, at: Route) => {
  const { branchId, user } = at
  // Read each time: no message of the exchange could take back a salt of an earlier password.
  const verifier = await readVerifier(host, at)
  const mock = mockChallenge(await host.mockSecret(), `${branchId}\0${user}`)
  const first = await readClientFirst(stream, binding)
  const proof = first && (await challengeClient(stream, first, verifier ?? mock, binding))
  if (!proof) return undefined
  const keys = verifier && keysOfProof(proof, verifier)
  if (!verifier || !keys) throw wrongPassword(user)
  stream.write(authentication(SASL_FINAL, serverFinal(proof, keys)))
  stream.write(authentication(AUTHENTICATION_OK))
  return { ...keys, salt: verifier.salt }
}

/** What a client that asks for more than version 3.0 of the protocol is told. */
const negotiation = (given: ReadonlyMap<string, string>): Buffer => {
  const unknown = [...given.keys()].filter(name => name.startsWith("_pq_."))
  const head = Buffer.alloc(8)
  head.writeInt32BE(PROTOCOL_3_0, 0)
  head.writeInt32BE(unknown.length, 4)
  return message("v", Buffer.concat([head, ...unknown.map(name => Buffer.from(`${name}\0`, "latin1"))]))
}

/** What a session's parameters are for a client, by way of a connection where no earlier one tells. */
const parametersFor = async (
  { pool, defaults }: SharedPool,
  own: Parameters,
  read: () => SharedPool["defaults"],
  signal: AbortSignal,
): Promise<Parameters> => {
  const isKnown = [...own].every(
    ([name, value]) => name === "application_name" || defaults?.get(name) === value,
  )
  if (!defaults || !isKnown) pool.giveBack(await borrow(pool, own, signal))
  return new Map([...(read() ?? []), ...own])
}

const welcome = (parameters: Parameters, key: Buffer): Buffer =>
  Buffer.concat([
    ...[...parameters].map(([name, value]) => message("S", Buffer.from(`${name}\0${value}\0`, "latin1"))),
    message("K", key),
    READY,
  ])

const newKey = (): Buffer => {
  const id = Buffer.alloc(4)
  id.writeInt32BE(randomInt(1, 0x7fff_ffff))
  return Buffer.concat([id, randomBytes(SECRET_BYTES)])
}

/** Aborted when the stream closes. */
const untilClosed = (stream: Socket): AbortSignal => {
  const closing = new AbortController()
  stream.once("close", () => closing.abort())
  return closing.signal
}

export class Pooler implements Disposable {
  readonly #host: PoolerHost
  readonly #pools: Pools
  readonly #clients = new Set<PooledClient>()
  readonly #paceTimer: Disposable

  constructor(host: PoolerHost) {
    this.#host = host
    this.#pools = new Pools(host)
    this.#paceTimer = every(host.clock, PACE_EVERY_MS, () => this.#endTooSlow())
  }

  /** Logs a client in and serves it from then on; resolves when it is logged in or was turned away. */
  async serve(newcomer: Newcomer): Promise<void> {
    const { greeting, at, protocol } = newcomer
    const { stream } = greeting
    const late = setTimeout(() => stream.destroy(), this.#host.limits.startupTimeoutMs)
    try {
      if (protocol > PROTOCOL_3_0) stream.write(negotiation(at.parameters))
      const keys = await logIn(this.#host, greeting, at)
      clearTimeout(late)
      if (!keys) return void stream.destroy()
      await this.#admit(newcomer, keys)
    } catch (error) {
      if (!(error instanceof WireRefusal)) throw error
      farewell(stream, error)
    } finally {
      clearTimeout(late)
    }
  }

  endAll(refusal: WireRefusal): void {
    for (const client of this.#clients) client.end(refusal)
  }

  [Symbol.dispose](): void {
    this.#paceTimer[Symbol.dispose]()
    this.#pools[Symbol.dispose]()
  }

  #endTooSlow(): void {
    const nowMs = this.#host.clock.now()
    for (const client of this.#clients) client.endIfTooSlow(nowMs)
  }

  async #admit(newcomer: Newcomer, keys: LoginKeys): Promise<void> {
    const { at, clientAddress, greeting } = newcomer
    const { own, shared: common } = splitStartup(at.parameters)
    const { branchId, user, database } = at
    const address = { branchId, user, database, clientAddress, parameters: common }
    const shared = this.#pools.join(address, keys)
    try {
      const signal = untilClosed(greeting.stream)
      const parameters = await parametersFor(shared, own, () => shared.defaults, signal)
      this.#start(newcomer, { address, shared, parameters })
    } catch (error) {
      this.#pools.leave(address, shared)
      throw shared.pool.unreachable(error)
    }
  }

  #start(
    newcomer: Newcomer,
    { address, shared, parameters }: { address: PoolAddress; shared: SharedPool; parameters: Parameters },
  ): void {
    const { greeting, at, connectionId, clientAddress } = newcomer
    const { stream } = greeting
    const { branchId, user, applicationName } = at
    const key = newKey()
    const claimed = this.#host.claimKey(key.toString("latin1"), () => client.cancel())
    const observer = createObserver({
      key: () => undefined,
      ready: newcomer.settled,
      call: call =>
        this.#host.call({ branchId, connectionId, user, applicationName, clientAddress, ...call }),
    })
    const wanted = new Map([...parameters].filter(([name]) => isTracked(name)))
    const greeted = welcome(parameters, key)
    observer.back(greeted)
    stream.write(greeted)
    let hasLeft = false
    const client: PooledClient = new PooledClient({
      stream,
      pool: shared.pool,
      observer,
      wanted,
      used: server => this.#pools.used(server),
      left: () => {
        if (hasLeft) return
        hasLeft = true
        claimed[Symbol.dispose]()
        this.#pools.leave(address, shared)
        queueMicrotask(() => this.#clients.delete(client))
      },
    })
    this.#clients.add(client)
  }
}
