/**
 * What a workload that may change the machine's programs has in /etc beside them: files of packages as these came, which
 * tell nothing of this machine, and what packages derive from others. What an operator has changed is left out.
 */
import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { lstat, open, readdir, readFile, readlink, rename, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { words } from "../../guest/frames.ts"

/** Path below the root, mode in octal or `link`, bytes or where it leads. */
type Setting = readonly [path: string, mode: string, content: string | Buffer]

const PACKAGES = "/var/lib/dpkg/status"
const FILE_BYTES_MAX = 2 ** 20
const READABLE_BY_OTHERS = 0o004
/** Kept by programs of packages from what packages bring; and the certificate authorities that the machine trusts. */
const derived = [
  "etc/alternatives",
  "etc/ld.so.conf.d",
  "etc/ssl/certs",
  "etc/ld.so.cache",
  "etc/ca-certificates.conf",
]
/** The agent writes its own. */
const leftOut = new Set(["etc/hostname", "etc/hosts", "etc/mtab", "etc/resolv.conf", "etc/profile"])
const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")

/** A regular file that everybody may read; undefined for what is none. */
const readPublic = async (path: string): Promise<{ mode: number; bytes: Buffer } | undefined> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  )
  if (!file) return undefined
  try {
    const { mode, size } = await file.stat()
    const isPublic = (mode & constants.S_IFMT) === constants.S_IFREG && (mode & READABLE_BY_OTHERS) !== 0
    return isPublic && size <= FILE_BYTES_MAX
      ? { mode: mode & 0o777, bytes: await file.readFile() }
      : undefined
  } finally {
    await file.close()
  }
}

/** Files of packages that are as the package brought them (deb-conffiles(5)). */
async function* unchanged(): AsyncGenerator<Setting> {
  const status = await textOf(PACKAGES)
  for (const [, path = "", digest] of status.matchAll(/^ \/(etc\/\S+) ([0-9a-f]{32})$/gm)) {
    if (leftOut.has(path)) continue
    const found = await readPublic(`/${path}`)
    if (found && createHash("md5").update(found.bytes).digest("hex") === digest)
      yield [path, found.mode.toString(8), found.bytes]
  }
}

async function* below(path: string): AsyncGenerator<Setting> {
  const found = await lstat(`/${path}`).catch(() => undefined)
  if (found?.isSymbolicLink()) yield [path, "link", await readlink(`/${path}`)]
  else if (found?.isFile()) {
    const file = await readPublic(`/${path}`)
    if (file) yield [path, file.mode.toString(8), file.bytes]
  } else if (found?.isDirectory())
    for (const name of (await readdir(`/${path}`)).toSorted()) yield* below(`${path}/${name}`)
}

/** A line of /etc/passwd or /etc/group with its name and numbers alone. */
const bareLine = (line: string): string => {
  const [name, , number, group, , home, program] = line.split(":")
  return home === undefined ? `${name}:x:${number}:` : `${name}:x:${number}:${group}::${home}:${program}`
}

/** Those of this machine that the package manager's own records name; it does nothing where one is missing. */
const recorded = async (file: string, field: number): Promise<readonly string[]> => {
  const records = (await textOf("/var/lib/dpkg/statoverride")).split("\n")
  const names = new Set(records.map(record => record.split(" ")[field]))
  return (await textOf(file)).split("\n").filter(line => names.has(line.split(":")[0]))
}

/** Users and groups that each Debian has, whose numbers packages rely on, and `user`. */
async function* users(): AsyncGenerator<Setting> {
  const apt = "_apt:x:42:65534::/nonexistent:/usr/sbin/nologin"
  const files = [
    { name: "passwd", field: 0, more: [apt, "user:x:1000:1000:user:/home/user:/bin/bash"] },
    { name: "group", field: 1, more: ["user:x:1000:"] },
  ]
  for (const { name, field, more } of files) {
    const master = await textOf(`/usr/share/base-passwd/${name}.master`)
    if (!master) return
    const others = (await recorded(`/etc/${name}`, field)).map(bareLine)
    const lines = new Map<string, string>()
    for (const line of [
      ...master
        .trim()
        .replace(/^([^:]+):\*:/gm, "$1:x:")
        .split("\n"),
      ...others,
      ...more,
    ]) {
      const [key = ""] = line.split(":")
      if (!lines.has(key)) lines.set(key, line)
    }
    yield [`etc/${name}`, "644", `${[...lines.values()].join("\n")}\n`]
    const shadow = [...lines.keys()].map(key => `${key}:*:19000:0:99999:7:::\n`).join("")
    if (name === "passwd") yield ["etc/shadow", "640", shadow]
  }
}

const KEYRINGS = "/usr/share/keyrings/"
const APT = "etc/apt/sources.list"

/**
 * Whether everybody may know a source of packages and a workload could check it: no name or password stands in its
 * address, and its key is a package's.
 */
const isUsable = (source: string, codename: string): boolean => {
  const urls = [...source.matchAll(/\b[a-z+]+:\/\/\S+/g)].map(([url]) => url)
  const key = /signed-by[=:]\s*([^\s\]]+)/i.exec(source)?.[1]
  const isKnown = key
    ? key.startsWith(KEYRINGS)
    : new RegExp(`[\\s/]${codename}(-\\w+)?\\s`).test(`${source}\n`)
  return urls.length > 0 && isKnown && urls.every(url => /^https?:\/\/[\w.:/-]+$/.test(url))
}

/** Where apt finds packages (sources.list(5)). */
async function* sources(): AsyncGenerator<Setting> {
  const codename = /^VERSION_CODENAME=(\w+)$/m.exec(await textOf("/usr/lib/os-release"))?.[1]
  if (!codename) return
  const names = (await readdir(`/${APT}.d`).catch(() => [])).map(name => `${APT}.d/${name}`)
  for (const path of [APT, ...names]) {
    const separator = path.endsWith(".sources") ? "\n\n" : "\n"
    const text = (await readPublic(`/${path}`))?.bytes.toString("utf8").replace(/^#.*\n/gm, "") ?? ""
    const usable = text.split(separator).filter(source => isUsable(source, codename))
    if (usable.length > 0) yield [path, "644", `${usable.join(separator)}\n`]
  }
}

const collect = async (): Promise<Buffer> => {
  const all = new Map<string, Setting>()
  const add = async (settings: AsyncGenerator<Setting>) => {
    for await (const setting of settings) all.set(setting[0], setting)
  }
  await add(unchanged())
  for (const path of derived) await add(below(path))
  await add(users())
  await add(sources())
  return words(...[...all.values()].flat())
}

/** Gives the path of a file that has them, in a folder of the platform's alone. */
export type HostSettings = () => Promise<string>

export const createHostSettings = (directory: string): HostSettings => {
  let made: { readonly of: number; readonly path: Promise<string> } | undefined
  const make = async () => {
    const path = join(directory, "host-settings")
    await writeFile(`${path}.new`, await collect(), { mode: 0o600 })
    await rename(`${path}.new`, path)
    return path
  }
  return async () => {
    // Written anew by each change of packages.
    const of = (await stat(dirname(PACKAGES)).catch(() => undefined))?.mtimeMs ?? 0
    if (made?.of !== of) {
      const path = make()
      made = { of, path }
      path.catch(() => {
        made = undefined
      })
    }
    return await made.path
  }
}
