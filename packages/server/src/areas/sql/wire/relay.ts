/** Moves bytes between a client and its server. */
import type { Socket } from "node:net"
import { errorResponse, terminated, type WireRefusal } from "./error-response.ts"
import type { Observer } from "./observer.ts"

/** For a client to take what is left for it before its connection is cut. */
const FAREWELL_TIMEOUT_MS = 5_000

/** Says why, hangs up, and does not wait for ever to be heard. */
export const farewell = (stream: Socket, refusal?: WireRefusal): void => {
  if (stream.destroyed) return
  stream.on("error", () => undefined)
  if (refusal) stream.end(errorResponse(refusal))
  else stream.end()
  stream.resume()
  stream.setTimeout(0)
  const timer = setTimeout(() => stream.destroy(), FAREWELL_TIMEOUT_MS)
  stream.once("close", () => clearTimeout(timer))
}

export interface Relay {
  /** Ends both sides; the client is told why if it listens at a place where it can be told. */
  end(refusal: WireRefusal): void
}

export interface RelayNeeds {
  readonly client: Socket
  readonly upstream: Socket
  readonly observer: Observer
  /** Bytes went by. */
  readonly used: () => void
  /** The client went away without a word while its server was at work. */
  readonly abandoned: () => void
  /** The server's side is closed, so nothing runs for the client any more. */
  readonly closed: () => void
}

/** Both sockets are paused when they come; from now on bytes flow as fast as the slower side takes them. */
export const relay = ({ client, upstream, observer, used, abandoned, closed }: RelayNeeds): Relay => {
  let clientGone = false
  let serverGone = false

  const leave = () => {
    if (clientGone) return
    clientGone = true
    if (serverGone) return
    farewell(client)
    if (observer.terminated) {
      // What it asked for before it said goodbye is done to the end, as if it had been connected directly.
      upstream.end()
      upstream.resume()
      return
    }
    if (observer.state === "busy") abandoned()
    upstream.destroy()
  }

  const lose = () => {
    if (serverGone) return
    serverGone = true
    if (!clientGone)
      farewell(
        client,
        !observer.fatal && !observer.terminated && observer.atBoundary ? terminated() : undefined,
      )
  }

  client.on("data", (chunk: Buffer) => {
    if (serverGone) return
    if (!upstream.write(chunk)) client.pause()
    observer.front(chunk)
    used()
  })
  upstream.on("data", (chunk: Buffer) => {
    if (!clientGone && !client.write(chunk)) upstream.pause()
    observer.back(chunk)
    used()
  })
  client.on("drain", () => upstream.resume())
  upstream.on("drain", () => client.resume())
  client.on("error", leave).on("end", leave).on("close", leave)
  upstream.on("error", lose).on("end", lose).on("close", lose).once("close", closed)
  if (client.destroyed || client.readableEnded) leave()
  client.resume()
  upstream.resume()

  return {
    end(refusal) {
      if (serverGone) return
      serverGone = true
      if (observer.state === "busy" && !clientGone) abandoned()
      upstream.destroy()
      if (!clientGone) farewell(client, observer.atBoundary ? refusal : undefined)
    },
  }
}
