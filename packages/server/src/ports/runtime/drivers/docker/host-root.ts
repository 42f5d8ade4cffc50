/** The image that containers with the machine's own programs start from: places to mount these at, and nothing else. */
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { lstat, mkdir, mkdtemp, readlink, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { create } from "tar"
import type { DockerApi } from "./api.ts"
import type { Bind } from "./config.ts"

const REPOSITORY = "svc-host-root"
const directories = [".svc/disk", ".svc/mounts", ".svc/platform", ".svc/root", ".svc/runtime"]
const system = ["dev", "etc", "proc", "run", "sys", "tmp", "usr"]
/** What old systems keep beside /usr, and others have links to parts of it for. */
const besideUsr = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"]
const settings = ["/etc/alternatives", "/etc/ssl/certs", "/etc/ld.so.conf.d", "/etc/ld.so.cache"]

const tarOf = async (links: ReadonlyMap<string, string>, plain: readonly string[]): Promise<Buffer> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-root-"))
  try {
    for (const name of [...directories, ...system, ...plain])
      await mkdir(join(folder, name), { recursive: true, mode: 0o755 })
    for (const [name, target] of links) await symlink(target, join(folder, name))
    // Of the same names there is the same archive, by which the image is known.
    const options = { cwd: folder, portable: true, mtime: new Date(0) }
    return await buffer(create(options, [".svc", ...system, ...plain, ...links.keys()].toSorted()))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export interface HostRoot {
  readonly image: string
  /** The machine's programs, and the settings that go with them. */
  readonly binds: readonly Bind[]
  /** Imports it again. */
  restore(): Promise<void>
}

/** Imports it unless it is there. */
export const openHostRoot = async (api: DockerApi): Promise<HostRoot> => {
  const links = new Map<string, string>()
  const plain: string[] = []
  for (const name of besideUsr) {
    const found = await lstat(`/${name}`).catch(() => undefined)
    if (found?.isSymbolicLink()) links.set(name, await readlink(`/${name}`))
    else if (found) plain.push(name)
  }
  const archive = await tarOf(links, plain)
  const tag = createHash("sha256").update(archive).digest("hex").slice(0, 16)
  const image = `${REPOSITORY}:${tag}`
  const restore = async () => {
    const query = { fromSrc: "-", repo: REPOSITORY, tag }
    await api.call("POST", "/images/create", { query, body: archive })
  }
  if ((await api.call("GET", `/images/${image}/json`, { accepts: [404] })) === undefined) await restore()
  const sources = ["/usr", ...plain.map(name => `/${name}`), ...settings.filter(path => existsSync(path))]
  return { image, binds: sources.map(path => ({ source: path, target: path })), restore }
}
