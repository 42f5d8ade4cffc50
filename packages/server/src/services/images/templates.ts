/** Roots that the operator has put into the data folder, by name: a tar each, or an unpacked directory. */
import { lstatSync } from "node:fs"
import { join } from "node:path"

export type Template =
  /** `version` changes when the file does. */
  | { readonly kind: "archive"; readonly path: string; readonly version: string }
  | { readonly kind: "directory"; readonly path: string }

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/

export const createTemplates =
  (directory: string) =>
  /** Undefined where there is none. */
  (name: string): Template | undefined => {
    if (!NAME.test(name)) return undefined
    const path = join(directory, name)
    const folder = lstatSync(path, { throwIfNoEntry: false })
    if (folder?.isDirectory()) return { kind: "directory", path }
    const file = lstatSync(`${path}.tar`, { throwIfNoEntry: false })
    if (!file?.isFile()) return undefined
    return { kind: "archive", path: `${path}.tar`, version: `${file.size}-${file.mtimeMs}-${file.ino}` }
  }
