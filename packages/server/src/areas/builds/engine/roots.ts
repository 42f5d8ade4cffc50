/** The image of a stage as a directory: made when something must be read in it, of the layers so far. */
import { execFile } from "node:child_process"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Images } from "../../../services/images/images.ts"
import type { Layer } from "./layers.ts"

export type Unpack = Images["unpack"]

export interface StageRoot {
  add(layer: Layer): void
  /** With all layers in it; what was read in it before may be old. */
  directory(): Promise<string>
}

/** `folder` is there and empty. A stage that begins as another one takes over all of its files, as links to them. */
export const createStageRoot = (
  folder: string,
  base: { readonly layers: readonly Layer[]; readonly like: StageRoot | undefined },
  unpack: Unpack,
  signal: AbortSignal,
): StageRoot => {
  const root = join(folder, "root")
  let waiting: Layer[] = base.like ? [] : [...base.layers]
  let isMade = false

  const begin = async () => {
    if (base.like) {
      // What comes later takes the place of a file and never changes it, so that both may have it.
      const from = await base.like.directory()
      await promisify(execFile)("cp", ["-al", "--no-target-directory", from, root], { signal })
    } else await mkdir(root, { mode: 0o755 })
    isMade = true
  }

  return {
    add: layer => void waiting.push(layer),
    async directory() {
      if (!isMade) await begin()
      if (waiting.length > 0) {
        const files = waiting.map(({ file }) => file)
        waiting = []
        await unpack(files, root, signal)
      }
      return root
    },
  }
}

export const removeFolder = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true })
