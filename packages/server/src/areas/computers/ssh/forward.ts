/** Connections of a client to ports of the computer itself, and to nothing else. */
import type { Connection, ServerChannel, TcpipRequestInfo } from "ssh2"
import type { Live } from "../../../services/workloads/workload.ts"
import type { ComputerItem } from "../policy.ts"
import { createWriter, type Transport } from "./channel-writer.ts"
import { receiveAll, sendAll } from "./streams.ts"

export interface ForwardNeeds {
  readonly transport: Transport
  readonly reach: () => Promise<Live<ComputerItem> | string>
  /** A signal that aborts when the channel is closed; undefined where there can be none. */
  readonly admit: (channel: ServerChannel) => AbortSignal | undefined
  readonly isFull: () => boolean
}

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"])

export const serveForwards = (
  connection: Connection,
  { transport, reach, admit, isFull }: ForwardNeeds,
): void => {
  const open = async (accept: () => ServerChannel, reject: () => void, info: TcpipRequestInfo) => {
    const { destIP, destPort } = info
    if (!LOOPBACK.has(destIP) || destPort < 1 || destPort > 65_535 || isFull()) return reject()
    const live = await reach()
    if (typeof live === "string") return reject()
    const guest = await live.guest.connect(destPort).catch(() => undefined)
    if (!guest) return reject()
    const channel: ServerChannel | undefined = accept()
    const gone = channel && admit(channel)
    if (!gone) return void guest.destroy()
    gone.addEventListener("abort", () => guest.destroy())
    const write = createWriter(channel, transport, gone)
    receiveAll(channel, guest, gone)
    await sendAll(guest, "stdout", write)
    channel.end()
  }
  connection.on("tcpip", (accept, reject, info) => void open(accept, reject, info).catch(reject))
}
