/** `svc storage cp`: files and folders into buckets, out of them, and between them. */
import { readdir, stat } from "node:fs/promises"
import { basename, join, relative, sep } from "node:path"
import type { Svc } from "@svc/sdk"
import type { OwnFlags } from "../../arguments.ts"
import { connectWithKey } from "../../connect.ts"
import { printJson } from "../../output.ts"
import { type Terminal, UsageError } from "../../terminal.ts"
import type { Extra } from "../extra.ts"
import { folderOf, parseAddress, type Remote } from "./address.ts"
import { downloadFile, downloadPipe, pathInside } from "./download.ts"
import { each } from "./each.ts"
import { objects } from "./listing.ts"
import { createProgress, type Progress, sizeText } from "./progress.ts"
import { uploadFile, uploadPipe } from "./upload.ts"

const FILES_AT_ONCE = 4

export const copyFlags: OwnFlags = {
  recursive: { type: "boolean", short: "r", about: "A whole folder, or all keys under a prefix" },
}

export const copyUsage = `svc storage cp <from> <to>
svc storage cp -r <folder> svc://<bucket>/<prefix>
svc storage cp -r svc://<bucket>/<prefix> <folder>

Each side is a file, svc://bucket/key, or - for standard input or output. Large files travel in parts.`

interface Copying {
  readonly svc: Svc
  readonly terminal: Terminal
  readonly progress: Progress
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )

/** `svc://bucket/` and `svc://bucket/folder/` take the file's own name. */
const named = (to: Remote, name: string): Remote =>
  to.key === "" || to.key.endsWith("/") ? { ...to, key: to.key + name } : to

const copyOne = async ({ svc, terminal, progress }: Copying, fromText: string, toText: string) => {
  const from = parseAddress(fromText)
  const to = parseAddress(toText)
  progress.expect(1, 0)
  if (from.kind === "remote" && to.kind === "remote")
    await copyInside(svc, from, named(to, basename(from.key)))
  else if (from.kind === "file" && to.kind === "remote") {
    if (await isFolder(from.path)) throw new UsageError(`${from.path} is a folder: use -r`, "storage cp")
    await uploadFile(svc, from.path, named(to, basename(from.path)), progress)
  } else if (from.kind === "pipe" && to.kind === "remote") {
    await uploadPipe(svc, terminal.stdin, to, progress)
  } else if (from.kind === "remote" && to.kind === "pipe") {
    await downloadPipe(svc, from, terminal.out, progress)
  } else if (from.kind === "remote" && to.kind === "file") {
    const path = (await isFolder(to.path)) ? pathInside(to.path, basename(from.key), from) : to.path
    await downloadFile(svc, from, path, progress)
  } else throw new UsageError("one side must be in a bucket: svc://bucket/key", "storage cp")
  progress.finished()
}

const copyInside = async (svc: Svc, from: Remote, to: Remote) => {
  await svc.storage.copyObject({
    source_bucket: from.bucket,
    source_key: from.key,
    bucket: to.bucket,
    key: to.key,
  })
}

/** Files only: a link could lead anywhere, or round in a circle. */
const filesIn = async (folder: string): Promise<{ path: string; bytes: number }[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return Promise.all(paths.map(async path => ({ path, bytes: (await stat(path)).size })))
}

const uploadFolder = async ({ svc, progress }: Copying, folder: string, to: Remote) => {
  if (!(await isFolder(folder))) throw new UsageError(`${folder} is not a folder`, "storage cp")
  const files = await filesIn(folder)
  progress.expect(
    files.length,
    files.reduce((sum, { bytes }) => sum + bytes, 0),
  )
  await each(files, FILES_AT_ONCE, async ({ path }) => {
    const key = folderOf(to.key) + relative(folder, path).split(sep).join("/")
    await uploadFile(svc, path, { ...to, key }, progress)
    progress.finished()
  })
}

/** Every object under a prefix, with what its key has after the prefix. A key that ends like a folder holds nothing. */
async function* under(svc: Svc, from: Remote, progress: Progress) {
  const prefix = folderOf(from.key)
  for await (const { key, size } of objects(svc, { ...from, key: prefix })) {
    if (key.endsWith("/")) continue
    progress.expect(1, size)
    yield { object: { ...from, key }, rest: key.slice(prefix.length) }
  }
}

const copyAll = async (copying: Copying, fromText: string, toText: string) => {
  const { svc, progress } = copying
  const from = parseAddress(fromText)
  const to = parseAddress(toText)
  if (from.kind === "file" && to.kind === "remote") return uploadFolder(copying, from.path, to)
  if (from.kind !== "remote" || to.kind === "pipe")
    throw new UsageError("-r copies between a folder and svc://bucket/prefix", "storage cp")
  await each(under(svc, from, progress), FILES_AT_ONCE, async ({ object, rest }) => {
    if (to.kind === "remote") await copyInside(svc, object, { ...to, key: folderOf(to.key) + rest })
    else await downloadFile(svc, object, pathInside(to.path, rest, object), progress)
    progress.finished()
  })
}

export const copy: Extra = async (globals, [from, to, ...surplus], terminal, flags) => {
  if (from === undefined || to === undefined || surplus.length > 0)
    throw new UsageError("name what to copy and where to", "storage cp")
  const svc = await connectWithKey(globals, terminal)
  const progress = createProgress(terminal.err)
  try {
    const copying = { svc, terminal, progress }
    await (flags.recursive ? copyAll(copying, from, to) : copyOne(copying, from, to))
  } finally {
    progress[Symbol.dispose]()
  }
  const { files, bytes } = progress
  if (to === "-") return undefined
  if (globals.json) printJson({ files, bytes }, terminal.out)
  else terminal.out.line(`${files} ${files === 1 ? "file" : "files"}, ${sizeText(bytes)}`)
  return undefined
}
