/** Reads a file in a thread of its own, within limits of time and memory. */
import { Worker } from "node:worker_threads"
import type { RagFormat } from "@svc/contract"
import { READY, type ReadReply, type ReadTask } from "./messages.ts"
import type { ReadFile } from "./read-file.ts"
import { UnreadableFile } from "./text-blocks.ts"

const WORKER = new URL("./worker.ts", import.meta.url)
const READ_MS_MAX = 60_000
/** Beginning takes long where the machine is busy. */
const START_MS_MAX = 30_000
const HEAP_MB_MAX = 384
/** With buffers, which the limit of the heap does not count. */
const MEMORY_BYTES_MAX = 640 * 1024 * 1024
const LOOK_EVERY_MS = 100
const MIB = 1024 * 1024

const TOO_MUCH_MEMORY = `reading it takes more than ${MEMORY_BYTES_MAX / MIB} MiB of memory`
const TOO_MUCH_TIME = `reading it takes more than ${READ_MS_MAX / 1_000} seconds`

/** Ends a thread whose buffers grow too large. */
const watchMemory = (worker: Worker, refuse: (reason: string) => void): NodeJS.Timeout =>
  setInterval(async () => {
    const heap = await worker.getHeapStatistics().catch(() => undefined)
    if (heap && heap.used_heap_size + heap.external_memory > MEMORY_BYTES_MAX) refuse(TOO_MUCH_MEMORY)
  }, LOOK_EVERY_MS)

/** Rejects with an `UnreadableFile` where the file is to blame. */
export const readInThread = async (
  bytes: Uint8Array,
  format: RagFormat,
  signal: AbortSignal,
): Promise<ReadFile> => {
  signal.throwIfAborted()
  const workerData: ReadTask = { bytes, format }
  const worker = new Worker(WORKER, {
    name: "rag-read",
    env: {},
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX, stackSizeMb: 4 },
    stdout: true,
    stderr: true,
  })
  // Libraries print warnings about files; the server's log does not need them.
  worker.stdout.resume()
  worker.stderr.resume()
  const { promise, resolve, reject } = Promise.withResolvers<ReadReply>()
  const refuse = (reason: string) => reject(new UnreadableFile(reason))
  const abort = () => reject(signal.reason)
  signal.addEventListener("abort", abort, { once: true })
  let deadline = setTimeout(
    () => reject(new Error("the thread that reads files did not begin")),
    START_MS_MAX,
  )
  const memory = watchMemory(worker, refuse)
  worker.on("message", (message: ReadReply | typeof READY) => {
    if (message !== READY) return resolve(message)
    clearTimeout(deadline)
    deadline = setTimeout(refuse, READ_MS_MAX, TOO_MUCH_TIME)
  })
  worker.once("error", (error: NodeJS.ErrnoException) =>
    error.code === "ERR_WORKER_OUT_OF_MEMORY" ? refuse(TOO_MUCH_MEMORY) : reject(error),
  )
  worker.once("exit", () => reject(new Error("the thread that reads files ended")))
  try {
    const reply = await promise
    if ("problem" in reply) throw new UnreadableFile(reply.problem)
    return reply
  } finally {
    clearTimeout(deadline)
    clearInterval(memory)
    signal.removeEventListener("abort", abort)
    await worker.terminate()
  }
}
