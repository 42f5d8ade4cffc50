/**
 * What steps of earlier builds made, on this machine's disk: a folder for each project, which no other project's builds
 * look into. What was used least lately goes first.
 */
import { createHash } from "node:crypto"
import { link, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Layer } from "./layers.ts"

type Made = Omit<Layer, "file">

export interface StepCache {
  /** The layer of a step; null where the step changes nothing; undefined where it is not known. */
  find(projectId: string, key: string): Promise<Layer | null | undefined>
  /** The layer's file stays where it is, too. */
  keep(projectId: string, key: string, layer: Layer | null): Promise<void>
  collect(): Promise<void>
}

export const keyOf = (...parts: readonly unknown[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex")

const fileName = (digest: string) => digest.replace(":", "-")

export const openStepCache = async (directory: string, bytesMax: number): Promise<StepCache> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const folderOf = (projectId: string) => join(directory, projectId)

  const use = async (path: string) => {
    const now = new Date()
    await utimes(path, now, now)
  }

  return {
    async find(projectId, key) {
      try {
        const record = join(folderOf(projectId), `${key}.json`)
        const made = JSON.parse(await readFile(record, "utf8")) as Made | null
        if (made === null) return null
        const file = join(folderOf(projectId), fileName(made.digest))
        if ((await stat(file)).size !== made.bytes) return undefined
        await Promise.all([use(record), use(file)])
        return { ...made, file }
      } catch {
        // It is made again.
        return undefined
      }
    },

    async keep(projectId, key, layer) {
      const folder = folderOf(projectId)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { file, ...made } = layer ?? { file: "" }
      if (layer) {
        await link(file, join(folder, fileName(layer.digest))).catch(error => {
          if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
        })
      }
      const record = join(folder, `${key}.json`)
      await writeFile(`${record}.new`, JSON.stringify(layer && made), { mode: 0o600 })
      await rename(`${record}.new`, record)
    },

    async collect() {
      const files: { path: string; bytes: number; usedMs: number }[] = []
      for (const project of await readdir(directory))
        for (const name of await readdir(join(directory, project))) {
          const path = join(directory, project, name)
          const found = await stat(path).catch(() => undefined)
          if (found) files.push({ path, bytes: found.size, usedMs: found.mtimeMs })
        }
      let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      for (const file of files.sort((one, other) => one.usedMs - other.usedMs)) {
        if (bytes <= bytesMax) return
        bytes -= file.bytes
        await rm(file.path, { force: true })
      }
    },
  }
}
