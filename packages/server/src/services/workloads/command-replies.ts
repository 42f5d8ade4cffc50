/** The two ways to be told of a command: at its end, or as it goes. */
import { PassThrough, type Readable } from "node:stream"
import { EXEC_OUTPUT_BYTES_MAX } from "@svc/contract"
import type { Command, Guest } from "../../ports/runtime/port.ts"
import { type CommandInput, followCommand, type Outcome, toOutcome } from "./commands.ts"

interface Collected {
  readonly chunks: Buffer[]
  bytes: number
}

/** UTF-8, without a last character that was cut. */
const textOf = ({ chunks, bytes }: Collected): string => {
  const kept = Buffer.concat(chunks)
  return new TextDecoder().decode(kept, { stream: bytes > kept.length })
}

/** Runs a command to its end and gives what it wrote, up to the bound; what comes after is read and dropped. */
export const collectCommand = async (
  guest: Guest,
  command: Command,
  input: CommandInput,
  signal: AbortSignal,
) => {
  const written = { stdout: { chunks: [], bytes: 0 }, stderr: { chunks: [], bytes: 0 } } as Record<
    "stdout" | "stderr",
    Collected
  >
  const outputs = {
    take(name: "stdout" | "stderr", chunk: Buffer) {
      const collected = written[name]
      const left = EXEC_OUTPUT_BYTES_MAX - collected.bytes
      if (left > 0) collected.chunks.push(chunk.subarray(0, left))
      collected.bytes += chunk.length
      return true
    },
    drained: () => undefined,
  }
  const outcome = await followCommand(await guest.exec(command), input, outputs, signal)
  const { stdout, stderr } = written
  return {
    ...toOutcome(outcome),
    ...{ stdout: textOf(stdout), stderr: textOf(stderr) },
    truncated: stdout.bytes > EXEC_OUTPUT_BYTES_MAX || stderr.bytes > EXEC_OUTPUT_BYTES_MAX,
  }
}

const eventOf = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

const PING_EVERY_MS = 15_000

/**
 * Server-sent events of a command: its outputs as they come, then its end. The command waits when the reader does, and
 * is killed when the reader hangs up. Resolves once it runs, and rejects when it cannot.
 */
export const streamCommand = async (
  guest: Guest,
  command: Command,
  input: CommandInput,
  signal: AbortSignal,
): Promise<Readable> => {
  const process = await guest.exec(command)
  const stream = new PassThrough()
  const hungUp = new AbortController()
  stream.once("close", () => hungUp.abort())
  stream.write(": started\n\n")
  const outputs = {
    take: (name: "stdout" | "stderr", chunk: Buffer) =>
      stream.destroyed || stream.write(eventOf(name, { data: chunk.toString("base64") })),
    drained: (resume: () => void) => void stream.once("drain", resume),
  }
  const ping = setInterval(() => stream.writableNeedDrain || stream.write(": running\n\n"), PING_EVERY_MS)
  const finish = (outcome: Outcome) => stream.end(eventOf("exit", toOutcome(outcome)))
  followCommand(process, input, outputs, AbortSignal.any([signal, hungUp.signal]))
    .then(finish, () => stream.end(eventOf("error", { error: "the workload ended while the command ran" })))
    .finally(() => clearInterval(ping))
  return stream
}
