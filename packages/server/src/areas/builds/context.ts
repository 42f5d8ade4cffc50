/** What a build begins with: the folder that was uploaded, unpacked, and the Dockerfile for it. */
import { createWriteStream } from "node:fs"
import { mkdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import type { BlobPort } from "../../ports/blob/port.ts"
import { BuildError } from "./build-error.ts"
import { detect } from "./detect.ts"
import { readIgnore } from "./dockerfile/ignore.ts"
import type { Tree } from "./engine/copy-sources.ts"
import type { Unpack } from "./engine/roots.ts"
import { contextParts, resolveIn, statIn } from "./engine/trees.ts"

const DOCKERFILES = ["Dockerfile", "Containerfile"]
const FILE_BYTES_MAX = 1024 ** 2

export interface Prepared {
  readonly tree: Tree
  readonly dockerfile: string
  /** What kind of folder it is, where its Dockerfile was written here. */
  readonly detected: string | undefined
}

/** Into a directory below the folder; gives it. */
export const unpackUpload = async (
  needs: { readonly blob: BlobPort; readonly unpack: Unpack },
  upload: { readonly owner: string; readonly address: string },
  folder: string,
  signal: AbortSignal,
): Promise<string> => {
  const archive = join(folder, "context.tgz")
  const root = join(folder, "context")
  await mkdir(root)
  await pipeline(
    await needs.blob.read(upload.owner, upload.address),
    createWriteStream(archive, { mode: 0o600 }),
    {
      signal,
    },
  )
  await needs.unpack([archive], root, signal)
  await rm(archive)
  return root
}

const readText = async (root: string, path: string): Promise<string | undefined> => {
  const parts = resolveIn(root, path, true)
  const stat = statIn(root, parts)
  if (!stat?.isFile()) return undefined
  if (stat.size > FILE_BYTES_MAX) throw new BuildError(`${path.slice(0, 200)} is larger than 1 MiB`)
  return await readFile(join(root, ...parts), "utf8")
}

export const prepareContext = async (root: string, asked: string | null): Promise<Prepared> => {
  const path = asked ?? DOCKERFILES.find(name => statIn(root, resolveIn(root, name, true))?.isFile())
  const text = path === undefined ? undefined : await readText(root, contextParts(path).join("/"))
  if (asked !== null && text === undefined) throw new BuildError(`there is no Dockerfile at ${asked}`)
  const ignore =
    (await readText(root, `${path}.dockerignore`)) ?? (await readText(root, ".dockerignore")) ?? ""
  const tree: Tree = { root, isLeftOut: readIgnore(ignore), hasOwners: false }
  if (text !== undefined) return { tree, dockerfile: text, detected: undefined }
  const { kind, dockerfile } = await detect(root)
  return { tree, dockerfile, detected: kind }
}
