/**
 * `npm run template -- debian-12`: makes a root for sandboxes and computers and puts it into the data folder, where it is
 * known by its name at once. Roots of Debian and Ubuntu are made by debootstrap, as root; the one of busybox is small.
 */
import { spawnSync } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { settings } from "../packages/server/src/settings.ts"

const DEBIAN = "http://deb.debian.org/debian"
const UBUNTU = "http://archive.ubuntu.com/ubuntu"
const BUSYBOX = "/bin/busybox"

const suites: Readonly<Record<string, { readonly suite: string; readonly mirror: string }>> = {
  "debian-12": { suite: "bookworm", mirror: DEBIAN },
  "debian-13": { suite: "trixie", mirror: DEBIAN },
  "ubuntu-22.04": { suite: "jammy", mirror: UBUNTU },
  "ubuntu-24.04": { suite: "noble", mirror: UBUNTU },
}
const names = [...Object.keys(suites), "busybox"]

const fail = (text: string, code: number): never => {
  process.stderr.write(`${text}\n`)
  process.exit(code)
}

const run = (program: string, ...parameters: readonly string[]): void => {
  const { status, error } = spawnSync(program, parameters, { stdio: "inherit" })
  if (error) throw new Error(`${program} cannot be run: install the package ${program} (${error.message})`)
  if (status !== 0) throw new Error(`${program} ended with ${status}`)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { include: { type: "string" }, mirror: { type: "string" }, name: { type: "string" } },
})
const [kind = ""] = positionals
const name = values.name ?? kind
if (!names.includes(kind) || positionals.length > 1 || !/^[a-z0-9][a-z0-9._-]{0,62}$/.test(name))
  fail(`usage: npm run template -- ${names.join("|")} [--name NAME] [--include PACKAGE,…] [--mirror URL]`, 2)

/** Debian's smallest set of packages that can install others. */
const bootstrap = (root: string): void => {
  const { suite, mirror } = suites[kind] ?? fail(`${kind} is not known`, 2)
  const include = ["ca-certificates", ...(values.include?.split(",") ?? [])].join(",")
  run("debootstrap", "--variant=minbase", `--include=${include}`, suite, root, values.mirror ?? mirror)
  for (const cache of ["var/cache/apt/archives", "var/lib/apt/lists"]) {
    const at = join(root, cache)
    for (const entry of readdirSync(at)) rmSync(join(at, entry), { recursive: true, force: true })
  }
}

const installBusybox = (root: string): void => {
  if (!existsSync(BUSYBOX)) throw new Error(`${BUSYBOX} is missing: install the package busybox-static`)
  for (const folder of ["bin", "etc", "usr", "tmp"]) mkdirSync(join(root, folder))
  copyFileSync(BUSYBOX, join(root, "bin", "busybox"))
  const { stdout } = spawnSync(BUSYBOX, ["--list"], { encoding: "utf8" })
  for (const applet of stdout.split("\n").filter(word => word !== "" && word !== "busybox"))
    symlinkSync("busybox", join(root, "bin", applet))
}

const folder = join(settings.dataDir.parse(process.env[settings.dataDir.variable]), "templates")
mkdirSync(folder, { recursive: true, mode: 0o700 })
const work = mkdtempSync(join(folder, ".making-"))
try {
  const [root, archive] = [join(work, "root"), join(work, "archive.tar")]
  mkdirSync(root, { mode: 0o755 })
  if (kind === "busybox") installBusybox(root)
  else bootstrap(root)
  run("tar", "--numeric-owner", "--one-file-system", "-C", root, "-cf", archive, ".")
  renameSync(archive, join(folder, `${name}.tar`))
  process.stdout.write(`The template ${name} is in ${folder}.\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true, force: true })
}
