/** One client of a pool, from the moment that it is logged in. */
import type { Socket } from "node:net"
import { SQLSTATE, WireRefusal } from "../error-response.ts"
import type { Observer } from "../observer.ts"
import { farewell } from "../relay.ts"
import { isTracked, type Parameters, settingsFor } from "./parameters.ts"
import type { Pool } from "./pool.ts"
import type { Borrower, Server } from "./server.ts"
import { createTranslator } from "./translate.ts"

const TERMINATE = 0x58
/** Outside of a COPY and of a batch these mean nothing: CopyData, CopyDone, CopyFail, Flush. */
const MEANINGLESS: ReadonlySet<number> = new Set([0x64, 0x63, 0x66, 0x48])
const HEAD_BYTES = 5

export interface PooledClientNeeds {
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

export interface PooledClient {
  end(refusal: WireRefusal): void
  cancel(): Promise<void>
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

/** The stream is paused when it comes. */
export const servePooled = ({
  stream,
  pool,
  observer,
  wanted,
  left,
  used,
}: PooledClientNeeds): PooledClient => {
  const translator = createTranslator()
  const leaving = new AbortController()
  let server: Server | undefined
  let pending: Buffer | undefined
  let isBorrowing = false
  let isGone = false
  let isBlocked = false
  let saidGoodbye = false

  const giveBack = () => {
    const lent = server
    server = undefined
    if (!lent) return
    translator.moved()
    isBlocked = false
    lent.takeBack()
    void lent.uncancelled().then(() => pool.giveBack(lent))
    if (isGone) left()
    else goOn()
  }

  const discard = () => {
    const lent = server
    server = undefined
    lent?.close()
  }

  /** The connection goes back as soon as a transaction is over. */
  const considerGivingBack = () => {
    if (!server || translator.isPassing) return
    if (server.isSettled) giveBack()
    else if (isGone && !server.willSettle) {
      discard()
      left()
    }
  }

  const borrower: Borrower = {
    receive(bytes) {
      if (isGone) return true
      if (server) used(server)
      observer.back(bytes)
      return stream.write(bytes)
    },
    parameter(name, value) {
      if (isTracked(name)) wanted.set(name, value)
    },
    deallocated: translator.deallocated,
    ready: considerGivingBack,
    drain() {
      isBlocked = false
      goOn()
    },
    lost() {
      server = undefined
      if (isGone) return left()
      const isTold = observer.fatal || !observer.atBoundary
      leave(isTold ? undefined : new WireRefusal({ sqlstate: SQLSTATE.adminShutdown, message: TERMINATED }))
    },
  }

  /** The client is told why, if there is something to tell. */
  const leave = (refusal?: WireRefusal) => {
    if (isGone) return
    isGone = true
    leaving.abort()
    farewell(stream, refusal)
    if (!server) return left()
    if (server.isSettled && !translator.isPassing) return giveBack()
    if (saidGoodbye && refusal === undefined && server.willSettle) return server.resume()
    if (observer.state === "busy" && server.willSettle) void server.cancel()
    discard()
    left()
  }

  const goOn = () => {
    if (!isBorrowing && !isBlocked && !isGone) stream.resume()
  }

  const send = (lent: Server, bytes: Buffer): number => {
    const pieces: Buffer[] = []
    const done = translator.translate(bytes, lent, piece => void pieces.push(piece))
    const [first] = pieces
    isBlocked = first !== undefined && !lent.send(pieces.length === 1 ? first : Buffer.concat(pieces))
    if (isBlocked) stream.pause()
    return done
  }

  /** Takes the connection that it is lent, and goes on. */
  const obtain = async () => {
    isBorrowing = true
    stream.pause()
    try {
      const lent = await borrow(pool, wanted, leaving.signal)
      if (isGone) return pool.giveBack(lent)
      server = lent
      lent.lend(borrower)
    } catch (error) {
      return leave(error instanceof WireRefusal ? error : pool.unreachable(error))
    } finally {
      isBorrowing = false
    }
    proceed()
    if (saidGoodbye) leave()
    goOn()
  }

  /** Messages that need no server; returns where the first one that does begins, or -1 at a goodbye. */
  const skip = (bytes: Buffer): number => {
    let at = 0
    while (bytes.length - at >= HEAD_BYTES) {
      const type = bytes.readUInt8(at)
      const end = at + 1 + bytes.readInt32BE(at + 1)
      if (type === TERMINATE) return -1
      if (!MEANINGLESS.has(type) || end > bytes.length || end < at + HEAD_BYTES) break
      at = end
    }
    return at
  }

  const proceed = () => {
    if (!pending || isGone || isBorrowing) return
    try {
      if (!server) {
        const at = skip(pending)
        if (at < 0) return leave()
        pending = pending.subarray(at)
        // A message's head is enough to need a server.
        if (pending.length >= HEAD_BYTES) void obtain()
        return
      }
      const done = send(server, pending)
      pending = done < pending.length ? Buffer.from(pending.subarray(done)) : undefined
    } catch (error) {
      if (!(error instanceof WireRefusal)) throw error
      leave(error)
    }
    if (server) used(server)
  }

  stream.on("data", (chunk: Buffer) => {
    if (isGone) return
    observer.front(chunk)
    saidGoodbye = observer.terminated
    pending = pending ? Buffer.concat([pending, chunk]) : chunk
    proceed()
    if (saidGoodbye && !isBorrowing) leave()
  })
  stream.on("drain", () => server?.resume())
  const gone = () => leave()
  stream.on("error", gone).on("end", gone).on("close", gone)
  if (stream.destroyed || stream.readableEnded) leave()
  stream.resume()

  return {
    end: leave,
    async cancel() {
      if (server && observer.state === "busy") await server.cancel()
    },
  }
}

const TERMINATED = "terminating connection due to administrator command"
