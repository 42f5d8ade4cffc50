/**
 * Base images that are made here of what this machine has: a language's runtime with the libraries it needs, a shell, and
 * certificates. So a folder can be built where no registry is reached.
 */
import { execFile } from "node:child_process"
import { hash } from "node:crypto"
import { constants, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs"
import { access } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { BuildError } from "../build-error.ts"
import { PATH_DEFAULT } from "./config.ts"
import { saveLayer } from "./layers.ts"
import { STATIC_SERVER } from "./static-server.ts"
import { type Entry, tarOf } from "./tar-entries.ts"
import { walk } from "./trees.ts"
import type { Base } from "./types.ts"

export interface MadeBase {
  readonly digest: string
  readonly name: string
  readonly entries: readonly Entry[]
  readonly env: readonly string[]
}

const BYTES_MAX = 4 * 2 ** 30
const run = promisify(execFile)
const at = new Date("2026-01-01T00:00:00Z")
const owned = { uid: 0, gid: 0 } as const

const programAt = async (name: string): Promise<string | undefined> => {
  for (const directory of PATH_DEFAULT.split(":")) {
    const path = join(directory, name)
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return realpathSync(path)
  }
  return undefined
}

/** Shared libraries of a program and their loader, where programs look for them. */
const librariesOf = async (program: string): Promise<readonly string[]> => {
  try {
    const { stdout } = await run("ldd", [program], { env: { PATH: PATH_DEFAULT, LC_ALL: "C" } })
    return stdout.split("\n").flatMap(line => /(?:=> )?(\/\S+) \(/.exec(line)?.[1] ?? [])
  } catch {
    // It is linked statically.
    return []
  }
}

const directory = (path: string, mode = 0o755): Entry => ({
  path,
  kind: "directory",
  mode,
  ...owned,
  mtime: at,
})
const text = (path: string, content: string, mode = 0o644): Entry => ({
  ...{ path, kind: "file", mode, ...owned, mtime: at },
  ...{ source: Buffer.from(content), size: Buffer.byteLength(content) },
})
const linkTo = (path: string, linkpath: string): Entry => ({
  ...{ path, kind: "link", mode: 0o777, ...owned, mtime: at, linkpath },
})

const fileFrom = (host: string, path: string): Entry => {
  const real = realpathSync(host)
  const { size, mode } = statSync(real)
  return { path, kind: "file", mode: mode & 0o755, ...owned, mtime: at, source: real, size }
}

/** All of a directory of this machine, as it is called there. */
const treeFrom = (host: string, to: string): Entry[] =>
  walk(host, [], path => path.endsWith("__pycache__") || path.includes("__pycache__/")).map(node => {
    const path = node.path === "" ? to : `${to}/${node.path}`
    if (node.stat.isDirectory()) return directory(path)
    if (node.stat.isSymbolicLink()) return linkTo(path, readlinkSync(node.host))
    return { ...fileFrom(node.host, path) }
  })

const programWithLibraries = async (host: string, to: string): Promise<Entry[]> => [
  fileFrom(host, to),
  ...(await librariesOf(host)).map(library => fileFrom(library, library.slice(1))),
]

/** Names of busybox, or those of a shell and of the programs that scripts use most. */
const shellEntries = async (): Promise<Entry[]> => {
  const busybox = await programAt("busybox")
  if (busybox) {
    const { stdout } = await run(busybox, ["--list"])
    const names = stdout.split("\n").filter(name => /^[a-z0-9[._-]+$/i.test(name) && name !== "busybox")
    return [
      ...(await programWithLibraries(busybox, "bin/busybox")),
      ...names.map(name => linkTo(`bin/${name}`, "busybox")),
    ]
  }
  const programs = [
    "sh",
    "ls",
    "cat",
    "cp",
    "mv",
    "rm",
    "mkdir",
    "chmod",
    "chown",
    "ln",
    "env",
    "sleep",
    "grep",
    "sed",
  ]
  const entries: Entry[] = []
  for (const name of programs) {
    const path = await programAt(name)
    if (path) entries.push(...(await programWithLibraries(path, `bin/${name}`)))
  }
  return entries
}

const common = async (): Promise<Entry[]> => {
  const certificates = "/etc/ssl/certs/ca-certificates.crt"
  const hasCertificates = lstatSync(certificates, { throwIfNoEntry: false }) !== undefined
  return [
    ...["bin", "etc", "usr", "usr/bin", "usr/local", "usr/local/bin", "app", "var"].map(path =>
      directory(path),
    ),
    ...[directory("tmp", 0o1777), directory("root", 0o700), directory("home"), directory("home/node")],
    text(
      "etc/passwd",
      "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    ),
    text("etc/group", "root:x:0:\nnode:x:1000:\nnogroup:x:65534:\n"),
    text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ...(hasCertificates
      ? [directory("etc/ssl"), directory("etc/ssl/certs"), fileFrom(certificates, certificates.slice(1))]
      : []),
    // Names are found by libraries that no program names.
    ...(await Promise.all(
      ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"].map(async name => {
        const place = readdirSync("/lib").find(each => each.endsWith("-linux-gnu"))
        const path = place && join("/lib", place, name)
        return path && lstatSync(path, { throwIfNoEntry: false }) ? [fileFrom(path, path.slice(1))] : []
      }),
    ).then(lists => lists.flat())),
  ]
}

const nodeEntries = async (): Promise<Entry[]> => {
  const npm = await programAt("npm")
  const npmRoot = npm === undefined ? undefined : dirname(dirname(npm))
  return [
    ...(await programWithLibraries(process.execPath, "usr/local/bin/node")),
    ...(npmRoot?.endsWith("/npm")
      ? [
          ...[directory("usr/local/lib"), directory("usr/local/lib/node_modules")],
          ...treeFrom(npmRoot, "usr/local/lib/node_modules/npm"),
          linkTo("usr/local/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js"),
          linkTo("usr/local/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js"),
        ]
      : []),
    // `#!/usr/bin/env node`
    linkTo("usr/bin/env", "../../bin/env"),
  ]
}

const pythonEntries = async (): Promise<Entry[]> => {
  const python = await programAt("python3")
  if (!python) throw new BuildError("svc/python:3 is made of this machine's python3, which is missing")
  const { stdout } = await run(python, ["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"])
  const library = stdout.trim()
  const modules = readdirSync(join(library, "lib-dynload")).map(name => join(library, "lib-dynload", name))
  const needed = new Set((await Promise.all(modules.map(librariesOf))).flat())
  const packages = "/usr/lib/python3/dist-packages"
  const pip = ["pip", "setuptools", "wheel", "pkg_resources", "_distutils_hack"].filter(name =>
    lstatSync(join(packages, name), { throwIfNoEntry: false })?.isDirectory(),
  )
  return [
    ...(await programWithLibraries(python, "usr/bin/python3")),
    ...[...needed].map(path => fileFrom(path, path.slice(1))),
    ...treeFrom(library, library.slice(1)),
    ...[directory("usr/lib/python3"), directory(packages.slice(1))],
    ...pip.flatMap(name => treeFrom(join(packages, name), `${packages.slice(1)}/${name}`)),
    linkTo("usr/bin/python", "python3"),
    linkTo("usr/bin/env", "../../bin/env"),
  ]
}

const staticEntries = async (): Promise<Entry[]> => [
  ...(await nodeEntries()),
  directory("srv"),
  text("usr/local/lib/static-server.mjs", STATIC_SERVER),
]

const makers: Readonly<Record<string, { readonly tag: string; readonly entries: () => Promise<Entry[]> }>> = {
  "svc/node": { tag: process.versions.node.split(".")[0] ?? "", entries: nodeEntries },
  "svc/python": { tag: "3", entries: pythonEntries },
  "svc/static": { tag: "latest", entries: staticEntries },
}

/** Names of bases that are made here, with their tags. */
export const madeBaseNames = Object.entries(makers).map(([name, { tag }]) => `${name}:${tag}`)

const fingerprint = (entries: readonly Entry[]): string =>
  hash(
    "sha256",
    JSON.stringify(
      entries.map(({ path, mode, source, size, linkpath }) => [
        ...[path, mode, size, linkpath],
        typeof source === "string" ? statSync(source).mtimeMs : source?.toString(),
      ]),
    ),
  )

const found = new Map<string, Promise<MadeBase>>()

const collect = async (name: string, entries: () => Promise<Entry[]>): Promise<MadeBase> => {
  const all = [...(await common()), ...(await shellEntries()), ...(await entries())]
  // Directories above libraries, each once, and what comes later in place of what came before.
  const byPath = new Map<string, Entry>()
  for (const entry of all) {
    const parts = entry.path.split("/")
    for (let depth = 1; depth < parts.length; depth += 1) {
      const above = parts.slice(0, depth).join("/")
      if (!byPath.has(above)) byPath.set(above, directory(above))
    }
    byPath.set(entry.path, entry)
  }
  const list = [...byPath.values()].sort((one, other) => (one.path < other.path ? -1 : 1))
  return { name, digest: `sha256:${fingerprint(list)}`, entries: list, env: [`PATH=${PATH_DEFAULT}`] }
}

/** Undefined for a name that is none of these. */
export const findMadeBase = async (name: string): Promise<MadeBase | undefined> => {
  const [repository = "", tag] = name.split(":", 2)
  const maker = Object.hasOwn(makers, repository) ? makers[repository] : undefined
  if (!maker) return undefined
  if (tag !== undefined && tag !== maker.tag && tag !== "latest")
    throw new BuildError(`${name} is not here; ${repository}:${maker.tag} is`)
  const known = found.get(repository) ?? collect(repository, maker.entries)
  found.set(repository, known)
  known.catch(() => found.delete(repository))
  return await known
}

export const makeBase = async (made: MadeBase, folder: string, signal: AbortSignal): Promise<Base> => ({
  digest: made.digest,
  document: {
    config: { Env: made.env, WorkingDir: "/" },
    history: [{ created_by: `made of this machine: ${made.name}` }],
  },
  layers: [await saveLayer(tarOf(made.entries), folder, { bytesMax: BYTES_MAX, signal })],
})
