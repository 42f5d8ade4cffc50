/** The process whose network namespace is the gateway of all workloads (gateway.pl), and what it is told and tells. */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Duplex, Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { PortError } from "../../port-error.ts"
import { words } from "../guest/frames.ts"

export interface GatewayQuestion {
  /** Of the workload that asks. */
  readonly address: string
  readonly transport: "udp" | "tcp"
  readonly message: Buffer
}

export interface Gateway extends AsyncDisposable {
  /** As the machine counts; its namespace is at /proc/<pid>/ns/net. */
  readonly pid: number
  /** Its address on the cable to the machine. */
  readonly inside: string
  /** Two programs of nft, in the machine's namespace and in the gateway's. */
  readonly nft: { readonly machine: Duplex; readonly gateway: Duplex }
  /** Gives the namespace of a process a way out; `link` is of `Link::attach`. */
  join(pid: number, link: Buffer): Promise<void>
  /** What the kernel remembers of a workload's connections. Its cable goes with its namespace. */
  forget(address: string): Promise<void>
  readonly ended: Promise<void>
}

const READY_MS_MAX = 20_000
const LOG_CHARACTERS_MAX = 500

/** Frames are a length and words, each of a length and its bytes. */
const readFrames = (stream: Readable, found: (parts: readonly Buffer[]) => void): void => {
  let kept: Buffer = Buffer.alloc(0)
  stream.on("data", (part: Buffer) => {
    kept = kept.length > 0 ? Buffer.concat([kept, part]) : part
    while (kept.length >= 4 && kept.length >= 4 + kept.readUInt32BE(0)) {
      const frame = kept.subarray(4, 4 + kept.readUInt32BE(0))
      kept = kept.subarray(4 + frame.length)
      const parts: Buffer[] = []
      for (let at = 0; at < frame.length; at += 4 + frame.readUInt32BE(at))
        parts.push(Buffer.from(frame.subarray(at + 4, at + 4 + frame.readUInt32BE(at))))
      found(parts)
    }
  })
}

const createCalls = (input: Writable) => {
  const waiting = new Map<string, PromiseWithResolvers<void>>()
  let last = 0
  return {
    settle(id: string, problem?: string) {
      const call = waiting.get(id)
      waiting.delete(id)
      if (problem === undefined) call?.resolve()
      else call?.reject(new PortError("unavailable", problem))
    },
    call(what: string, ...rest: readonly (string | Buffer)[]): Promise<void> {
      last += 1
      const id = String(last)
      const call = Promise.withResolvers<void>()
      waiting.set(id, call)
      input.write(words(words(what, id, ...rest)))
      return call.promise
    },
    end() {
      for (const { reject } of waiting.values()) reject(new PortError("unavailable", "the gateway has ended"))
      waiting.clear()
    },
  }
}

const stdio = (child: ChildProcess) => {
  const [input, output, errors, machine, gateway] = child.stdio
  return { input, output, errors, machine, gateway } as {
    input: Writable
    output: Readable
    errors: Readable
    machine: Duplex
    gateway: Duplex
  }
}

export interface GatewayOptions {
  readonly perl: string
  readonly nft: string
  /** The machine's end of the cable. */
  readonly device: string
  readonly packetBytes: number
  /** The gateway's address for workloads, which also answers for name servers. */
  readonly address: string
  /** Undefined: there is no answer. */
  answer(question: GatewayQuestion): Promise<Buffer | undefined>
  readonly log: (line: string) => void
}

/** Rejects with `refused`, and what the machine does not grant. */
export const openGateway = async (options: GatewayOptions): Promise<Gateway> => {
  const { perl, nft, device, packetBytes, address, answer, log } = options
  const program = fileURLToPath(new URL("gateway.pl", import.meta.url))
  const child = spawn(perl, [program, device, String(packetBytes), address, nft], {
    env: {},
    stdio: ["pipe", "pipe", "pipe", "pipe", "pipe"],
  })
  const { input, output, errors, machine, gateway } = stdio(child)
  const ready = Promise.withResolvers<{ pid: number; inside: string }>()
  const ended = Promise.withResolvers<void>()
  const calls = createCalls(input)
  for (const stream of [input, machine, gateway]) stream.on("error", () => undefined)
  createInterface({ input: errors }).on("line", line => log(line.slice(0, LOG_CHARACTERS_MAX)))
  const fail = (reason: string) => ready.reject(new PortError("refused", reason))
  child
    .on("error", error => fail(error.message))
    .on("exit", () => {
      fail("the gateway has ended")
      calls.end()
      ended.resolve()
    })

  const hear = ([what, id = "", ...rest]: readonly string[], message: Buffer | undefined): void => {
    if (what === "question" && message) {
      const question = {
        address: rest[0] ?? "",
        transport: rest[1] === "tcp" ? "tcp" : "udp",
        message,
      } as const
      answer(question).then(
        answered => answered && input.write(words(words("answer", id, answered))),
        error => log(String(error).slice(0, LOG_CHARACTERS_MAX)),
      )
    } else if (what === "done") calls.settle(id)
    else if (what === "failed") id ? calls.settle(id, rest[0]) : fail(rest[0] ?? "")
    else if (what === "ready") ready.resolve({ pid: Number(id), inside: rest[0] ?? "" })
  }
  readFrames(output, parts =>
    hear(
      parts.slice(0, 4).map(part => part.toString()),
      parts[4],
    ),
  )

  const close = async () => {
    for (const stream of [machine, gateway, input]) stream.destroy()
    if (child.pid !== undefined) await ended.promise
  }
  const timer = setTimeout(fail, READY_MS_MAX, "the gateway did not start in time")
  try {
    const { pid, inside } = await ready.promise
    return {
      ...{ pid, inside, nft: { machine, gateway }, ended: ended.promise },
      join: (workloadPid, link) => calls.call("join", String(workloadPid), link),
      forget: of => calls.call("forget", of),
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    child.kill("SIGKILL")
    await close()
    throw error
  } finally {
    clearTimeout(timer)
  }
}
