/** One connection of an ssh client, from its first byte to its end. */
import type { Socket } from "node:net"
import ssh2, { type AuthContext, type Connection, type ServerChannel } from "ssh2"
import type { Live } from "../../../services/workloads/workload.ts"
import type { ComputerItem } from "../policy.ts"
import type { ComputerRow } from "../store.ts"
import type { Admitted } from "./admission.ts"
import { createTransport, type Transport } from "./channel-writer.ts"
import { serveForwards } from "./forward.ts"
import { createLogin, type LoggedIn, type LoginNeeds } from "./login.ts"
import { serveSession } from "./session.ts"

export interface ConnectionNeeds extends Pick<LoginNeeds, "find" | "revision" | "failed"> {
  /** Ed25519, in OpenSSH's format. */
  readonly hostKey: string
  readonly loginMsMax: number
  /** Knows the connection until it is disposed of, to end it when its key is taken away. */
  readonly register: (who: LoggedIn, end: () => void) => Disposable
  /** Puts the login on record. */
  readonly record: (
    who: LoggedIn,
    client: { readonly address: string; readonly name: string },
  ) => Promise<void>
  /** The running computer, awaited while it starts; or why there is none. */
  readonly reach: (row: ComputerRow, signal: AbortSignal) => Promise<Live<ComputerItem> | string>
  readonly hold: (live: Live<ComputerItem>) => Disposable
}

/** Only what is in order today: no Diffie-Hellman of the client's own groups, no SHA-1, no compression. */
const algorithms = {
  kex: [
    ...(["curve25519-sha256", "curve25519-sha256@libssh.org"] as const),
    ...(["ecdh-sha2-nistp256", "ecdh-sha2-nistp384", "ecdh-sha2-nistp521"] as const),
  ],
  cipher: [
    ...(["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"] as const),
    ...(["aes128-ctr", "aes256-ctr"] as const),
  ],
  hmac: [
    ...(["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com"] as const),
    ...(["hmac-sha2-256", "hmac-sha2-512"] as const),
  ],
  compress: ["none" as const],
}

const KEEP_ALIVE_EVERY_MS = 30_000
const KEEP_ALIVES_UNANSWERED_MAX = 4
const CHANNELS_MAX = 32
/** A whole login with a dozen keys needs less. */
const STRANGER_BYTES_MAX = 262_144
/** Twice what a client may send before it is given more room (ssh2's window). */
const UNREAD_BYTES_MAX = 4 * 2 ** 20
const UNSENT_BYTES_MAX = 16 * 2 ** 20
/** Smaller packets would only cost time; every client takes 32 KiB (RFC 4254, 5.2 with RFC 4253, 6.1). */
const PACKET_BYTES_MIN = 1024
/** For last words to arrive. */
const FAREWELL_MS = 1_000

const SEVERAL =
  "you have several computers of this name with this key: log in as <name>.<project id>, or as the computer's id"

/** Channels of one connection, and what they may hold. */
const createChannels = (socket: Socket) => {
  const open = new Map<ServerChannel, AbortController>()
  const stateOf = ({ incoming, outgoing }: ServerChannel) => ({
    ...{ isClosed: (incoming as { readonly state: string }).state === "closed" },
    packetSize: (outgoing as { readonly packetSize: number }).packetSize,
  })
  return {
    /** A signal that aborts when the channel is closed; undefined where there can be none. */
    admit(channel: ServerChannel): AbortSignal | undefined {
      if (open.size >= CHANNELS_MAX || stateOf(channel).packetSize < PACKET_BYTES_MIN) {
        socket.destroy()
        return undefined
      }
      const gone = new AbortController()
      open.set(channel, gone)
      return gone.signal
    },
    isFull: () => open.size >= CHANNELS_MAX,
    /** Whether the client sent what nobody gave it room for. */
    isFlooded: () => open.keys().some(({ readableLength }) => readableLength > UNREAD_BYTES_MAX),
    /** ssh2 itself says that a channel is closed only when all that came over it has been read. */
    sweep() {
      for (const [channel, gone] of open) {
        if (!socket.destroyed && !stateOf(channel).isClosed) continue
        open.delete(channel)
        gone.abort()
      }
    },
  }
}

/** The computer of a connection, which counts as used until that ends. */
const createReach = (needs: ConnectionNeeds, gone: AbortSignal, end: () => void) => {
  let reached: Live<ComputerItem> | undefined
  return async (computer: LoggedIn["computer"]): Promise<Live<ComputerItem> | string> => {
    if (computer === "several") return SEVERAL
    if (reached) return reached
    const live = await needs.reach(computer, gone)
    if (typeof live === "string" || gone.aborted) return live
    if (reached) return reached
    reached = live
    const held = needs.hold(live)
    gone.addEventListener("abort", () => held[Symbol.dispose]())
    // Its sessions say so first.
    void live.guest.ended.then(() => setTimeout(end, FAREWELL_MS).unref())
    return live
  }
}

interface Client {
  readonly connection: Connection
  readonly transport: Transport
  readonly channels: ReturnType<typeof createChannels>
}

const serveChannels = (
  { connection, transport, channels }: Client,
  { login, computer }: LoggedIn,
  reach: ReturnType<typeof createReach>,
): void => {
  const needs = { transport, admit: channels.admit, reach: () => reach(computer) }
  let sessions = 0
  connection.on("session", (accept, reject) => {
    if (sessions >= CHANNELS_MAX) return reject()
    const session = accept()
    sessions += 1
    session.once("close", () => {
      sessions -= 1
    })
    serveSession(session, { ...needs, user: login.user })
  })
  serveForwards(connection, { ...needs, isFull: channels.isFull })
}

export const serveConnection = (socket: Socket, admitted: Admitted, needs: ConnectionNeeds): void => {
  const gone = new AbortController()
  const transport = createTransport(socket)
  const channels = createChannels(socket)
  const late = setTimeout(() => socket.destroy(), needs.loginMsMax)
  let isKnown = false
  socket.once("close", () => {
    clearTimeout(late)
    admitted[Symbol.dispose]()
    channels.sweep()
    gone.abort()
  })

  const accept = (
    connection: Connection,
    info: { readonly header: { readonly versions: { readonly software: string } } },
  ) => {
    const end = () => {
      connection.end()
      socket.pause()
      setTimeout(() => socket.destroy(), FAREWELL_MS).unref()
    }
    const client = { address: socket.remoteAddress ?? "", name: info.header.versions.software }
    const enter = async (who: LoggedIn) => {
      const registered = needs.register(who, end)
      gone.signal.addEventListener("abort", () => registered[Symbol.dispose]())
      if (who.computer !== "several") await needs.record(who, client)
      if (gone.signal.aborted) return
      isKnown = true
      clearTimeout(late)
      admitted.known()
      serveChannels({ connection, transport, channels }, who, createReach(needs, gone.signal, end))
    }
    const login = createLogin({ ...needs, enter, parseKey: ssh2.utils.parseKey })
    // ssh2 only asks a client to leave that broke the protocol.
    connection.on("error", end)
    const authenticate = async (context: AuthContext) => {
      if ((await login(context)) === "too many tries") end()
    }
    connection.on("authentication", context => void authenticate(context).catch(() => socket.destroy()))
  }

  const server = new ssh2.Server(
    {
      ...{ hostKeys: [needs.hostKey], ident: "Svc", algorithms },
      ...{ keepaliveInterval: KEEP_ALIVE_EVERY_MS, keepaliveCountMax: KEEP_ALIVES_UNANSWERED_MAX },
    },
    accept,
  )
  server.injectSocket(socket)
  socket.on("data", () => {
    const isTooMuch = isKnown
      ? channels.isFlooded() || socket.writableLength > UNSENT_BYTES_MAX
      : socket.bytesRead > STRANGER_BYTES_MAX
    if (isTooMuch) socket.destroy()
    // When ssh2 has read it too.
    queueMicrotask(channels.sweep)
  })
}
