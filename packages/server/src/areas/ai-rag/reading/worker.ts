/** Reads one file and ends. A hostile file can break only this thread. */
import { parentPort, workerData } from "node:worker_threads"
import { READY, type ReadReply, type ReadTask } from "./messages.ts"
import { readFile } from "./read-file.ts"
import { UnreadableFile } from "./text-blocks.ts"

const { bytes, format } = workerData as ReadTask

const problemOf = (error: unknown): string => {
  if (error instanceof UnreadableFile) return error.message
  if (error instanceof RangeError && /call stack/i.test(error.message)) return "it is nested too deeply"
  return `it is damaged: ${error instanceof Error ? error.message : String(error)}`
}

parentPort?.postMessage(READY)
const reply: ReadReply = await readFile(bytes, format).catch((error: unknown) => ({
  problem: problemOf(error),
}))
parentPort?.postMessage(reply)
