/** Images' directories as workloads see them: with their own users. Each is a mount of this machine while it is needed. */
import { execFile } from "node:child_process"
import { mkdir, readdir, rmdir } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { PortError } from "../../../port-error.ts"
import { UIDS_EACH } from "../process/host.ts"

const run = promisify(execFile)
const program = fileURLToPath(new URL("image.pl", import.meta.url))

export interface ShownImages extends AsyncDisposable {
  /** Gives where it is to be bound from. */
  show(id: string, image: string, uidBase: number): Promise<string>
  /** Does nothing when it is not shown. */
  hide(id: string): Promise<void>
}

/** `directory` is made, for nothing else. What a crash left there is hidden. */
export const openShownImages = async (perl: string, directory: string): Promise<ShownImages> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const hide = async (id: string) => {
    const place = join(directory, id)
    // Nothing that a container still has of it is gone by that.
    await run("umount", ["--lazy", place]).catch(() => undefined)
    await rmdir(place).catch(() => undefined)
  }
  await Promise.all((await readdir(directory)).map(hide))
  return {
    async show(id, image, uidBase) {
      const place = join(directory, id)
      await mkdir(place, { recursive: true, mode: 0o700 })
      try {
        await run(perl, [program, image, String(uidBase), String(UIDS_EACH), place])
      } catch (error) {
        await hide(id)
        throw new PortError("unavailable", `the image ${image} cannot be shown: ${error}`, error)
      }
      return place
    },
    hide,
    // Not where an image is shown still.
    [Symbol.asyncDispose]: () => rmdir(directory).catch(() => undefined),
  }
}
