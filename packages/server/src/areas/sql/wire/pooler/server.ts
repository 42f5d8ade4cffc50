/** One connection of a pool to a branch's server, logged in as the tenant's role. */
import type { Socket } from "node:net"
import { SQLSTATE, WireRefusal } from "../error-response.ts"
import type { WireTarget } from "../messages.ts"
import { message } from "../scram.ts"
import { cancelUpstream } from "../upstream.ts"
import { createExpectations, type Fate } from "./expectations.ts"
import type { Parameters } from "./parameters.ts"
import { createServerFrames } from "./server-frames.ts"
import { readParameter, refusalOf, type ServerSession } from "./server-messages.ts"
import { createServerStatements } from "./statements.ts"

const TERMINATE = message("X", "")
const TRANSACTION_NONE = 0x49
const TRANSACTION_FAILED = 0x45

/** Who has the connection. */
export interface Borrower {
  /** Bytes of whole messages or parts of them; false asks to wait until `resume` is called. */
  receive(bytes: Buffer): boolean
  parameter(name: string, value: string): void
  /** All prepared statements are gone. */
  deallocated(): void
  /** A ReadyForQuery has been passed on. */
  ready(): void
  drain(): void
  /** The connection is gone. */
  lost(): void
}

type Use =
  | { readonly kind: "free" }
  /** Runs a statement of the pool's own. */
  | {
      readonly kind: "own"
      refusal: WireRefusal | undefined
      readonly done: (refusal: WireRefusal | undefined) => void
    }
  | { readonly kind: "lent"; readonly borrower: Borrower }
  | { readonly kind: "closed" }

const FREE: Use = { kind: "free" }
const CLOSED: Use = { kind: "closed" }

export class Server {
  readonly target: WireTarget
  readonly openedAtMs = performance.now()
  readonly statements = createServerStatements()
  readonly expected = createExpectations()
  /** A COPY to the server was announced to be over. */
  copyEnded = false
  /** Messages of the extended protocol that no Sync has followed. */
  isUnsynced = false
  readonly #socket: Socket
  readonly #key: string
  readonly #parameters: Parameters
  readonly #closed: () => void
  readonly #cancelling = new Set<Promise<void>>()
  #use: Use = FREE
  /** As the last ReadyForQuery says. */
  #transaction = TRANSACTION_NONE
  #inCopy = false

  /** The socket is paused, and `closed` is called when it is closed. */
  constructor(
    socket: Socket,
    target: WireTarget,
    { parameters, key, closed }: ServerSession & { readonly closed: () => void },
  ) {
    this.target = target
    this.#socket = socket
    this.#parameters = parameters
    this.#key = key
    this.#closed = closed
    const frames = createServerFrames({
      forward: bytes => this.#forward(bytes),
      parameter: payload => this.#parameter(payload),
      parsed: () => this.#answered("parse"),
      closed: () => this.#answered("close"),
      error: payload => this.#error(payload),
      deallocated: () => this.#deallocated(),
      copyIn: () => this.#copyIn(),
      ready: status => this.#ready(status),
      lost: () => this.cut(),
    })
    socket.on("data", (chunk: Buffer) => {
      if (!this.isClosed) frames.push(chunk)
    })
    socket.on("drain", () => this.#borrower?.drain())
    const gone = () => this.cut()
    socket.on("end", gone).on("close", gone)
    socket.resume()
  }

  /** What the server said of the session's parameters. */
  get parameters(): ReadonlyMap<string, string> {
    return this.#parameters
  }

  /** Between transactions, with nothing asked. */
  get isSettled(): boolean {
    return this.#transaction === TRANSACTION_NONE && this.expected.isEmpty && !this.isUnsynced
  }

  /** Whether a ReadyForQuery will come by itself. */
  get willSettle(): boolean {
    return !this.expected.isEmpty && !this.isUnsynced && !(this.#inCopy && !this.copyEnded)
  }

  /** A transaction is open, or a COPY to the server. */
  get isInTransaction(): boolean {
    return this.#transaction !== TRANSACTION_NONE || this.#inCopy
  }

  /** In a transaction that takes nothing but its end. */
  get isFailed(): boolean {
    return this.#transaction === TRANSACTION_FAILED
  }

  get isClosed(): boolean {
    return this.#use.kind === "closed"
  }

  get isLent(): boolean {
    return this.#use.kind === "lent"
  }

  /** False when more should wait for `Borrower.drain`. */
  send(bytes: Buffer): boolean {
    return this.#socket.write(bytes)
  }

  /** Runs a statement of the pool's own; resolves with what the server has against it. */
  run(sql: string): Promise<WireRefusal | undefined> {
    return new Promise(done => {
      if (this.isClosed) return done(ended())
      this.#use = { kind: "own", done, refusal: undefined }
      this.#socket.write(message("Q", Buffer.from(`${sql}\0`, "latin1")))
    })
  }

  lend(borrower: Borrower): void {
    if (!this.isClosed) this.#use = { kind: "lent", borrower }
    else borrower.lost()
  }

  /** It is nobody's from now on. */
  takeBack(): void {
    if (!this.isClosed) this.#use = FREE
    this.#socket.resume()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Cancels what runs; resolves once the server has taken notice. */
  cancel(): Promise<void> {
    const under = cancelUpstream(this.target, this.#key)
    this.#cancelling.add(under)
    return under.finally(() => this.#cancelling.delete(under))
  }

  /** Resolves when no cancellation is on its way, which could hit the next borrower. */
  async uncancelled(): Promise<void> {
    await Promise.all(this.#cancelling)
  }

  /** Lets the server go. */
  close(): void {
    if (this.isClosed) return
    this.#use = CLOSED
    this.#socket.end(TERMINATE)
    this.#socket.destroySoon()
    this.#closed()
  }

  /** Cuts the connection, and tells who has it. */
  cut() {
    const use = this.#use
    if (use.kind === "closed") return
    this.#use = CLOSED
    this.#socket.destroy()
    if (use.kind === "own") use.done(ended())
    if (use.kind === "lent") use.borrower.lost()
    this.#closed()
  }

  get #borrower(): Borrower | undefined {
    return this.#use.kind === "lent" ? this.#use.borrower : undefined
  }

  #forward(bytes: Buffer) {
    if (this.#borrower?.receive(bytes) === false) this.#socket.pause()
  }

  #parameter(payload: Buffer) {
    const [name, value] = readParameter(payload)
    this.#parameters.set(name, value)
    this.#borrower?.parameter(name, value)
  }

  #answered(kind: "parse" | "close"): Fate | "lost" {
    return this.expected.answered(kind) ?? "lost"
  }

  #error(payload: Buffer) {
    if (this.#use.kind === "own") this.#use.refusal = refusalOf(payload)
  }

  #deallocated() {
    this.statements.clear()
    this.#borrower?.deallocated()
  }

  #copyIn() {
    this.#inCopy = true
    this.expected.copyIn(this.copyEnded)
  }

  #ready(status: number) {
    this.#transaction = status
    this.#inCopy = false
    const use = this.#use
    if (use.kind === "own") {
      this.#use = FREE
      return use.done(use.refusal)
    }
    if (!this.expected.ready()) return this.cut()
    this.#borrower?.ready()
  }
}

const ended = (): WireRefusal =>
  new WireRefusal({ sqlstate: SQLSTATE.adminShutdown, message: "the server ended the session" })
