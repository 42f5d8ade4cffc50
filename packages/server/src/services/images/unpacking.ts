import { Worker } from "node:worker_threads"
import { ImageError } from "./image-error.ts"
import type { UnpackReply, UnpackTask } from "./unpack-task.ts"

const THREAD = new URL("unpack-thread.ts", import.meta.url)
const MEMORY_MB_MAX = 512

/** Rejects with an ImageError where the image is to blame. */
export const unpackInThread = async (task: UnpackTask, signal: AbortSignal): Promise<UnpackReply> => {
  signal.throwIfAborted()
  const worker = new Worker(THREAD, {
    ...{ name: "image-unpack", env: {}, workerData: task },
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
  })
  const reply = Promise.withResolvers<UnpackReply>()
  const abort = () => reply.reject(signal.reason)
  signal.addEventListener("abort", abort, { once: true })
  worker.once("message", reply.resolve).once("error", reply.reject)
  worker.once("exit", () => reply.reject(new Error("the thread that unpacks an image ended")))
  try {
    const { failure, ...done } = await reply.promise
    if (failure) throw failure.isOfImage ? new ImageError(failure.message) : new Error(failure.message)
    return done
  } finally {
    signal.removeEventListener("abort", abort)
    await worker.terminate()
  }
}
