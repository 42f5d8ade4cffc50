/** Unpacks archives in a thread, because it needs much CPU time. Started by unpacking.ts, for one task. */
import { join } from "node:path"
import { parentPort, workerData } from "node:worker_threads"
import { ImageError } from "./image-error.ts"
import { isOpenToAll, readArchive, unpackLayers, writeFile } from "./unpack.ts"
import { fileOf, type UnpackReply, type UnpackTask } from "./unpack-task.ts"

/** Of an OCI layout and of `docker save`. */
const PART =
  /^(?:index\.json|manifest\.json|blobs\/sha256\/[0-9a-f]{64}|[0-9a-f]{64}\.json|[0-9a-f]{64}\/layer\.tar)$/

const unpackArchive = async (task: Extract<UnpackTask, { kind: "archive" }>): Promise<UnpackReply> => {
  const names: string[] = []
  const { bytes } = await readArchive(task.file, task.limits, (entry, failed) => {
    const name = entry.path.replace(/^\.\//, "")
    if (entry.type === "File" && PART.test(name) && !names.includes(name)) {
      names.push(name)
      writeFile(entry, join(task.directory, fileOf(name)), failed)
    }
    entry.resume()
  })
  return { bytes, isOpenToAll: false, names }
}

const perform = async (task: UnpackTask): Promise<UnpackReply> => {
  if (task.kind === "archive") return await unpackArchive(task)
  const bytes = await unpackLayers(task.files, task.root, task.limits)
  const isOpen = task.workingDir !== null && isOpenToAll(task.root, task.workingDir)
  return { bytes, isOpenToAll: isOpen, names: [] }
}

const failed = (error: unknown): UnpackReply => ({
  ...{ bytes: 0, isOpenToAll: false, names: [] },
  failure: {
    message: error instanceof Error ? error.message : String(error),
    isOfImage: error instanceof ImageError,
  },
})

parentPort?.postMessage(await perform(workerData as UnpackTask).catch(failed))
