/** One client of a pool, from the moment that it is logged in. */
import type { Socket } from "node:net"
import { SQLSTATE, terminated, WireRefusal } from "../error-response.ts"
import type { Observer } from "../observer.ts"
import { farewell } from "../relay.ts"
import { wishOf } from "./client-frames.ts"
import { Pace } from "./pace.ts"
import { isTracked, type Parameters, settingsFor } from "./parameters.ts"
import type { Pool } from "./pool.ts"
import type { Borrower, Server } from "./server.ts"
import { Translator } from "./translate.ts"

export interface PooledClientNeeds {
  /** Paused. */
  readonly stream: Socket
  readonly pool: Pool
  readonly observer: Observer
  /** What the client wants its session's parameters to be. */
  readonly wanted: Parameters
  /** The client has left, and its last transaction is over. */
  readonly left: () => void
  /** Bytes go by on a server connection. */
  readonly used: (server: Server) => void
}

/** Lends a connection with the parameters that a client wants. */
export const borrow = async (pool: Pool, wanted: Parameters, signal?: AbortSignal): Promise<Server> => {
  const server = await pool.lend(signal)
  const settings = settingsFor(wanted, server.parameters)
  const refusal = settings === undefined ? undefined : await server.run(settings)
  if (refusal) {
    pool.giveBack(server)
    throw refusal
  }
  // As the server writes them.
  for (const name of wanted.keys()) wanted.set(name, server.parameters.get(name) ?? wanted.get(name) ?? "")
  return server
}

const tooSlow = (): WireRefusal =>
  new WireRefusal({
    sqlstate: SQLSTATE.idleSessionTimeout,
    message: "terminating connection because the rest of a message did not come in time",
  })

type State =
  /** Between transactions. */
  | { readonly kind: "idle" }
  | { readonly kind: "borrowing" }
  /** `isBlocked`: the server does not take more yet. */
  | { readonly kind: "lent"; readonly server: Server; isBlocked: boolean }
  /** The client has gone, and the server runs to its end what was asked before. */
  | { readonly kind: "finishing"; readonly server: Server }
  | { readonly kind: "gone" }

const IDLE: State = { kind: "idle" }
const GONE: State = { kind: "gone" }

export class PooledClient implements Borrower {
  readonly #needs: PooledClientNeeds
  readonly #translator = new Translator()
  readonly #leaving = new AbortController()
  readonly #pace = new Pace()
  #state: State = IDLE
  /** Bytes of the client that are not done with. */
  #held: Buffer | undefined
  #saidGoodbye = false

  constructor(needs: PooledClientNeeds) {
    this.#needs = needs
    const { stream } = needs
    stream.on("data", (chunk: Buffer) => this.#arrived(chunk))
    stream.on("drain", () => this.#server?.resume())
    const gone = () => this.end()
    stream.on("error", gone).on("end", gone).on("close", gone)
    if (stream.destroyed || stream.readableEnded) this.end()
    stream.resume()
  }

  /** The client is told why, if there is something to tell. */
  end(refusal?: WireRefusal) {
    const state = this.#state
    if (this.#hasLeft) return
    this.#leaving.abort()
    farewell(this.#needs.stream, refusal)
    if (state.kind !== "lent") {
      this.#state = GONE
      return this.#needs.left()
    }
    const { server } = state
    this.#state = { kind: "finishing", server }
    if (server.isSettled && !this.#translator.isPassing) return this.#giveBack(server)
    if (this.#saidGoodbye && refusal === undefined && server.willSettle) return server.resume()
    if (this.#needs.observer.state === "busy" && server.willSettle) void server.cancel()
    this.#discard(server)
  }

  async cancel(): Promise<void> {
    if (this.#needs.observer.state === "busy") await this.#server?.cancel()
  }

  /** Ends the client when it holds a server connection for a message that does not come on. Called again and again. */
  endIfTooSlow(nowMs: number): void {
    const state = this.#state
    const isHolding = state.kind === "lent" && !state.isBlocked && !state.server.isInTransaction
    const owesRest =
      isHolding && (this.#translator.isPassing || (this.#held !== undefined && state.server.expected.isEmpty))
    if (!this.#pace.isTooSlow(owesRest, nowMs)) return
    this.end(this.#needs.observer.atBoundary ? tooSlow() : undefined)
  }

  receive(bytes: Buffer): boolean {
    if (this.#state.kind !== "lent") return true
    const { used, observer, stream } = this.#needs
    used(this.#state.server)
    observer.back(bytes)
    return stream.write(bytes)
  }

  parameter(name: string, value: string): void {
    if (isTracked(name)) this.#needs.wanted.set(name, value)
  }

  deallocated(): void {
    this.#translator.deallocated()
  }

  /** The connection goes back as soon as a transaction is over. */
  ready() {
    const server = this.#server
    if (!server || this.#translator.isPassing) return
    if (server.isSettled) this.#giveBack(server)
    else if (this.#hasLeft && !server.willSettle) this.#discard(server)
  }

  drain(): void {
    if (this.#state.kind === "lent") this.#state.isBlocked = false
    this.#goOn()
  }

  lost() {
    if (this.#hasLeft) return this.#discarded()
    this.#state = IDLE
    const { observer } = this.#needs
    const isTold = observer.fatal || !observer.atBoundary
    this.end(isTold ? undefined : terminated())
  }

  get #server(): Server | undefined {
    const state = this.#state
    return state.kind === "lent" || state.kind === "finishing" ? state.server : undefined
  }

  get #hasLeft(): boolean {
    return this.#state.kind === "finishing" || this.#state.kind === "gone"
  }

  #giveBack(server: Server) {
    const hadLeft = this.#hasLeft
    this.#state = hadLeft ? GONE : IDLE
    this.#translator.moved()
    server.takeBack()
    void server.uncancelled().then(() => this.#needs.pool.giveBack(server))
    if (hadLeft) this.#needs.left()
    else this.#goOn()
  }

  #discard(server: Server) {
    server.close()
    this.#discarded()
  }

  #discarded() {
    this.#state = GONE
    this.#needs.left()
  }

  #goOn() {
    const state = this.#state
    if (state.kind === "idle" || (state.kind === "lent" && !state.isBlocked)) this.#needs.stream.resume()
  }

  #arrived(chunk: Buffer) {
    if (this.#hasLeft) return
    const { observer } = this.#needs
    observer.front(chunk)
    this.#pace.arrived(chunk.length)
    this.#saidGoodbye = observer.terminated
    this.#held = this.#held ? Buffer.concat([this.#held, chunk]) : chunk
    this.#proceed()
    if (this.#saidGoodbye && this.#state.kind !== "borrowing") this.end()
  }

  /** Does what can be done with the bytes that are there. */
  #proceed() {
    const state = this.#state
    const held = this.#held
    if (!held) return
    try {
      if (state.kind === "idle") this.#ask(held)
      else if (state.kind === "lent") {
        const done = this.#send(held, state)
        this.#held = done < held.length ? Buffer.from(held.subarray(done)) : undefined
      }
    } catch (error) {
      if (!(error instanceof WireRefusal)) throw error
      this.end(error)
    }
    if (this.#state.kind === "lent") this.#needs.used(this.#state.server)
  }

  /** Without a server connection: gets one where the next message needs it. */
  #ask(held: Buffer) {
    const wish = wishOf(held)
    if (wish.kind === "goodbye") return this.end()
    this.#held = wish.at < held.length ? held.subarray(wish.at) : undefined
    if (wish.kind === "server") void this.#obtain()
  }

  #send(held: Buffer, lent: State & { kind: "lent" }): number {
    const { server } = lent
    const pieces: Buffer[] = []
    const done = this.#translator.translate(held, { server, send: piece => void pieces.push(piece) })
    const [first] = pieces
    lent.isBlocked = first !== undefined && !server.send(pieces.length === 1 ? first : Buffer.concat(pieces))
    if (lent.isBlocked) this.#needs.stream.pause()
    return done
  }

  /** Takes the connection that it is lent, and goes on. */
  async #obtain(): Promise<void> {
    const { pool, stream, wanted } = this.#needs
    this.#state = { kind: "borrowing" }
    stream.pause()
    try {
      const server = await borrow(pool, wanted, this.#leaving.signal)
      if (this.#hasLeft) return pool.giveBack(server)
      this.#state = { kind: "lent", server, isBlocked: false }
      server.lend(this)
    } catch (error) {
      return this.end(error instanceof WireRefusal ? error : pool.unreachable(error))
    }
    this.#proceed()
    if (this.#saidGoodbye) this.end()
    this.#goOn()
  }
}
