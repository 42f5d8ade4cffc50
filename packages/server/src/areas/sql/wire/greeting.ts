/** A client's first packets: encryption, and what it wants. */
import type { Socket } from "node:net"
import { type SecureContext, TLSSocket } from "node:tls"
import { isLoopback, type RequireTls } from "../../../services/postgres/client-port.ts"
import { SQLSTATE, WireRefusal } from "./error-response.ts"
import { readBytes } from "./reading.ts"
import { parseStartup, type StartupParameters, startupLength } from "./startup-packet.ts"

export interface Greeting {
  /** The stream to go on with: the socket itself, or TLS on it. */
  readonly stream: Socket
  readonly wants:
    | { readonly kind: "cancel"; readonly key: string }
    | { readonly kind: "startup"; readonly protocol: number; readonly parameters: StartupParameters }
  /** The host name that the client asked TLS for. */
  readonly sni: string | undefined
  /** What a login is bound to, of the TLS connection. */
  readonly binding: Buffer | undefined
}

/** What the proxy offers TLS with. */
export interface TlsIdentity {
  readonly context: SecureContext
  readonly binding: Buffer | undefined
}

/** The first byte of a TLS handshake, which no startup packet has: it would announce hundreds of megabytes. */
const TLS_HANDSHAKE = 0x16
const ALPN = "postgresql"
const YES = Buffer.from("S")
const NO = Buffer.from("N")

export interface Greeter {
  readonly identity: () => Promise<TlsIdentity>
  readonly requireTls: RequireTls
}

interface Channel {
  readonly stream: Socket
  readonly binding: Buffer | undefined
}

const secure = async (
  socket: Socket,
  { identity }: Greeter,
  direct: boolean,
): Promise<Channel | undefined> => {
  const { context, binding } = await identity()
  // Bytes that came before the encryption would be taken for encrypted ones (CVE-2021-23214).
  if (!direct && socket.readableLength > 0) return undefined
  if (!direct) socket.write(YES)
  const stream = new TLSSocket(socket, {
    isServer: true,
    secureContext: context,
    ALPNProtocols: [ALPN],
  })
  const established = await new Promise<boolean>(resolve => {
    stream.once("secure", () => resolve(true))
    stream.once("close", () => resolve(false))
    // The raw socket's end is not always told to the one above it before the handshake is done.
    socket.once("close", () => resolve(false))
    stream.on("error", () => resolve(false))
  })
  if (!established || (direct && stream.alpnProtocol !== ALPN)) {
    stream.destroy()
    return undefined
  }
  return { stream, binding }
}

const sniOf = (stream: Socket): string | undefined =>
  stream instanceof TLSSocket && typeof stream.servername === "string" ? stream.servername : undefined

const mustEncrypt = (socket: Socket, requireTls: RequireTls): boolean =>
  requireTls === "always" || (requireTls === "remote" && !isLoopback(socket.remoteAddress ?? ""))

/**
 * Reads up to and including the packet that says what the client wants. Undefined when the client went away or speaks
 * something else; a `WireRefusal` is passed to `refuse` with the stream the client listens on.
 */
export const greet = async (
  socket: Socket,
  greeter: Greeter,
  refuse: (stream: Socket, refusal: WireRefusal) => void,
): Promise<Greeting | undefined> => {
  const first = await readBytes(socket, 1)
  if (!first) return undefined
  socket.unshift(first)
  const direct = first[0] === TLS_HANDSHAKE
  const plain: Channel = { stream: socket, binding: undefined }
  let channel: Channel | undefined = direct ? await secure(socket, greeter, true) : plain
  let asked = false
  while (channel) {
    const { stream, binding }: Channel = channel
    const packet = await readPacket(stream)
    if (!packet) break
    try {
      const wants = parseStartup(packet)
      if (wants.kind === "gss") {
        if (asked) break
        asked = true
        stream.write(NO)
      } else if (wants.kind === "tls") {
        if (stream !== socket) break
        channel = await secure(socket, greeter, false)
      } else {
        // Clients before version 17 ask to cancel without TLS, whatever their session uses.
        if (wants.kind === "startup" && stream === socket && mustEncrypt(socket, greeter.requireTls)) {
          throw new WireRefusal({
            sqlstate: SQLSTATE.notAuthorized,
            message: "the connection is not encrypted",
            hint: "Connect with sslmode=require.",
          })
        }
        return { stream, wants, sni: sniOf(stream), binding }
      }
    } catch (error) {
      if (!(error instanceof WireRefusal)) throw error
      refuse(stream, error)
      return undefined
    }
  }
  channel?.stream.destroy()
  socket.destroy()
  return undefined
}

const readPacket = async (stream: Socket): Promise<Buffer | undefined> => {
  const head = await readBytes(stream, 4)
  const length = head && startupLength(head)
  if (!head || length === undefined) return undefined
  const rest = await readBytes(stream, length - head.length)
  return rest && Buffer.concat([head, rest])
}
