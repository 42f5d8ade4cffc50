/** The platform's side of the conversation with one guest agent. */
import { constants } from "node:os"
import { posix } from "node:path"
import { Duplex, Readable, type Writable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { PortError } from "../../port-error.ts"
import type { Command, Exit, FileStat, GuestProcess, Roots, TerminalSize, WriteOptions } from "../port.ts"
import { type Channel, type ChannelOptions, createChannel } from "./channel.ts"
import { createFrameReader, frameOf, frameTypes, numbers, readWords, words } from "./frames.ts"

export interface GuestUsage {
  /** Of the disk under /workspace. */
  readonly diskBytes: number
  readonly cpuMs: number
  readonly memoryBytes: number
  readonly processes: number
  /** Only where its kernel serves the workload alone. */
  readonly outOfMemoryKills?: number
}

export interface GuestClient {
  /** Resolves when commands can run; rejects with what the agent, or what should have become it, said. */
  readonly ready: Promise<void>
  exec(command: Command): Promise<GuestProcess>
  readFile(path: string, roots: Roots): Promise<{ readonly stat: FileStat; readonly bytes: Readable }>
  writeFile(path: string, bytes: Readable | Buffer, options: WriteOptions): Promise<void>
  connect(port: number): Promise<Duplex>
  /** As the workload itself sees it. */
  usage(): Promise<GuestUsage>
  /** SIGTERM to every process, and the end of the workload when the last one is gone or the grace over. */
  stop(graceMs: number): void
}

/** What may wait in our own memory for an agent that does not read. */
const UNSENT_BYTES_MAX = 64 * 2 ** 20
const MODE_DEFAULT = 0o644
const nothing = Buffer.alloc(0)
/** Of several names for one number the first, which is the usual one. */
const signalNames = new Map<number, string>(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
)

const absolute = (path: string): string => {
  if (!path.startsWith("/") || path.includes("\0"))
    throw new PortError("refused", `${path} is not an absolute path`)
  return posix.normalize(path)
}

const withoutNul = (texts: readonly string[]): void => {
  if (texts.some(text => text.includes("\0")))
    throw new PortError("refused", "a text of a command has a NUL in it")
}

const exitOf = (payload: Buffer): Exit => {
  const signal = payload.readUInt32BE(4)
  return signal === 0
    ? { code: payload.readUInt32BE(0), signal: null }
    : { code: null, signal: signalNames.get(signal) ?? `SIG${signal}` }
}

const sizeOf = ({ columns, rows }: TerminalSize): readonly [number, number] => [columns, rows]

/** `input` is where the agent reads, `output` what it says. Both end when the workload does. */
export const createGuestClient = (stream: { input: Writable; output: Readable }): GuestClient => {
  const { input, output } = stream
  const channels = new Map<number, Channel>()
  const ready = Promise.withResolvers<void>()
  ready.promise.catch(() => undefined)
  let lastId = 0
  let ended: PortError | undefined

  const end = (error: PortError): void => {
    if (ended) return
    ended = error
    ready.reject(error)
    for (const channel of [...channels.values()]) channel.break(error)
    channels.clear()
    input.destroy()
    output.destroy()
  }
  const died = () => end(new PortError("unavailable", "the workload has ended"))

  const write = (bytes: Buffer): void => {
    if (ended) return
    input.write(bytes)
    if (input.writableLength > UNSENT_BYTES_MAX)
      end(new PortError("unavailable", "the workload does not listen"))
  }

  const read = createFrameReader(frame => {
    if (frame.channel !== 0) channels.get(frame.channel)?.take(frame)
    else if (frame.type === frameTypes.ready) ready.resolve()
    else if (frame.type === frameTypes.failed) {
      end(new PortError("unavailable", readWords(frame.payload)[1] ?? "the agent did not start"))
    }
  })
  output.on("data", (bytes: Buffer) => {
    try {
      read(bytes)
    } catch (error) {
      end(new PortError("unavailable", "the agent said what nobody understands", error))
    }
  })
  output.on("error", died).on("close", died).on("end", died)
  input.on("error", died)

  const open = (request: Buffer, options: Omit<ChannelOptions, "send" | "onOver">): Channel => {
    if (ended) throw ended
    lastId += 1
    const id = lastId
    const channel = createChannel({
      ...options,
      send: (type, payload = nothing, more = nothing) => write(frameOf(type, id, payload, more)),
      onOver: () => channels.delete(id),
    })
    channels.set(id, channel)
    channel.send(frameTypes.open, request)
    return channel
  }

  const exec = async (command: Command): Promise<GuestProcess> => {
    const { argv, cwd = "/workspace", env = {}, user = "user", terminal } = command
    const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    withoutNul([...argv, cwd, ...environment])
    const size = terminal ? sizeOf(terminal) : [0, 0]
    const head = ["exec", user, cwd, ...size.map(String), String(argv.length)]
    const channel = open(words(...head, ...argv, ...environment), {
      outputs: terminal ? [1] : [1, 2],
      exits: true,
      closesWhenUnwanted: false,
    })
    const mark = (await channel.opened).readUInt32BE(0)
    const exited = channel.exited.then(exitOf)
    exited.catch(() => undefined)
    return {
      stdin: channel.input,
      stdout: channel.output(1),
      stderr: terminal ? Readable.from([]) : channel.output(2),
      exited,
      kill: signal => channel.send(frameTypes.signal, numbers(constants.signals[signal], mark)),
      resize: given => channel.send(frameTypes.resize, numbers(...sizeOf(given))),
    }
  }

  return {
    ready: ready.promise,
    exec,
    async readFile(path, roots) {
      const request = words("read", absolute(path), ...roots.map(absolute))
      const channel = open(request, { outputs: [1], exits: false, closesWhenUnwanted: true })
      const said = await channel.opened
      const stat = {
        sizeBytes: Number(said.readBigUInt64BE(0)),
        mode: said.readUInt32BE(8),
        modifiedAt: new Date(Number(said.readBigUInt64BE(12)) * 1000),
      }
      return { stat, bytes: channel.output(1) }
    },
    async writeFile(path, bytes, { roots, mode = MODE_DEFAULT, user = "user" }) {
      const request = words("write", absolute(path), user, String(mode), ...roots.map(absolute))
      const channel = open(request, { outputs: [], exits: true, closesWhenUnwanted: false })
      await channel.opened
      try {
        await pipeline(Buffer.isBuffer(bytes) ? Readable.from([bytes]) : bytes, channel.input)
        await channel.exited
      } catch (error) {
        channel.send(frameTypes.close)
        throw error
      }
    },
    async connect(port) {
      const request = words("connect", String(port))
      const channel = open(request, { outputs: [1], exits: false, closesWhenUnwanted: true })
      await channel.opened
      const connection = Duplex.from({ writable: channel.input, readable: channel.output(1) })
      // It calls an end that its own user wanted an error.
      return connection.on("error", () => undefined)
    },
    async usage() {
      const channel = open(words("usage"), { outputs: [], exits: true, closesWhenUnwanted: false })
      const said = await channel.exited
      const numbers = Array.from({ length: said.length / 8 }, (_, at) => Number(said.readBigUInt64BE(8 * at)))
      const [diskBytes = 0, cpuMs = 0, memoryBytes = 0, processes = 0, outOfMemoryKills] = numbers
      const used = { diskBytes, cpuMs, memoryBytes, processes }
      return outOfMemoryKills === undefined ? used : { ...used, outOfMemoryKills }
    },
    stop: graceMs => write(frameOf(frameTypes.stop, 0, numbers(graceMs))),
  }
}
