/**
 * `npm run host`: installs what sandboxes, computers and functions run with, on Debian and Ubuntu. With names of drivers,
 * only what those take; `--dry-run` tells what it would do. The kernel of virtual machines is unpacked into a folder and
 * not installed, so it never becomes this machine's own.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { UNPACKED_AT as KERNEL_AT } from "../packages/server/src/ports/runtime/drivers/qemu/kernel.ts"
import { packagesOf, type RuntimeDriver, runtimeDrivers } from "../packages/server/src/ports/runtime/index.ts"
import {
  installedIn,
  kernelFilesIn,
  kernelOf,
  lineOf,
  offeredIn,
  osOf,
  packageFor,
  planOf,
  type Wanted,
  wantedOf,
} from "./host-plan.ts"

const KERNEL_USER = "qemu"
const DOCTOR = join(import.meta.dirname, "../packages/server/src/doctor.ts")

// biome-ignore lint/suspicious/noTemplateCurlyInString: the fields are dpkg's.
const DPKG_FORMAT = "${Package} ${db:Status-Status}\n"

const say = (text: string) => void process.stdout.write(`${text}\n`)
const fail = (text: string, code: number): never => {
  process.stderr.write(`${text}\n`)
  process.exit(code)
}

/** What a program says, also where it ends with an error, as those do that ask for what is not there. */
const ask = (program: string, ...parameters: string[]): string =>
  spawnSync(program, parameters, { encoding: "utf8", env: { ...process.env, LC_ALL: "C" } }).stdout ?? ""

const run = (program: string, parameters: readonly string[], cwd = "/"): void => {
  say(`+ ${[program, ...parameters].join(" ")}`)
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  const { status } = spawnSync(program, parameters, { stdio: "inherit", cwd, env })
  if (status !== 0) fail(`${program} failed`, 1)
}

const readDrivers = (words: readonly string[]): readonly RuntimeDriver[] => {
  const unknown = words.find(word => !runtimeDrivers.some(name => name === word))
  if (unknown !== undefined)
    fail(`usage: npm run host -- [--dry-run] [${runtimeDrivers.join("|")}]… (not: ${unknown})`, 2)
  return words.length === 0 ? runtimeDrivers : runtimeDrivers.filter(name => words.includes(name))
}

const show = (title: string, list: readonly Wanted[]): void => {
  if (list.length > 0) say(`${title}\n${list.map(lineOf).join("\n")}`)
}

/** Downloads them as the user that apt has for it, and unpacks them. */
const unpackKernel = (packages: readonly string[]): void => {
  const folder = mkdtempSync(join(tmpdir(), "svc-kernel-"))
  try {
    run("apt-get", ["download", "-qq", "-o", "APT::Sandbox::User=root", ...packages], folder)
    rmSync(KERNEL_AT, { recursive: true, force: true })
    mkdirSync(KERNEL_AT, { recursive: true })
    for (const file of readdirSync(folder)) run("dpkg-deb", ["-x", join(folder, file), KERNEL_AT])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const words = process.argv.slice(2)
const isDry = words.includes("--dry-run")
const drivers = readDrivers(words.filter(word => word !== "--dry-run"))
const os = osOf(existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : undefined)
const wanted = wantedOf([
  ...drivers.map(name => [name, packagesOf(name).map(given => packageFor(given, process.arch))] as const),
  ["the network of workloads", ["nftables"]],
])
const kernel = drivers.some(name => name === KERNEL_USER) ? kernelOf(os.family, process.arch) : undefined

if (os.family === "other") {
  show(`On ${os.name} this installs nothing. What Debian calls so helps here too:`, wanted)
  process.exit(1)
}
if (!isDry) {
  if (process.getuid?.() !== 0) fail("Only root can install it: sudo npm run host; --dry-run tells what", 1)
  run("apt-get", ["update", "-qq"])
}
const names = wanted.map(({ name }) => name)
const plan = planOf(wanted, {
  installed: installedIn(ask("dpkg-query", "-W", "-f", DPKG_FORMAT, ...names)),
  offered: offeredIn(ask("apt-cache", "policy", ...names)),
})
show("Here already:", plan.present)
show(`Not in ${os.name}, as apt knows it (apt-get update may help):`, plan.lacking)
show("To be installed:", plan.install)
const kernelFiles = kernel === undefined ? [] : kernelFilesIn(ask("apt-cache", "depends", kernel))
if (kernel !== undefined)
  say(
    kernelFiles.length > 0
      ? `To be unpacked into ${KERNEL_AT}, for ${KERNEL_USER}:\n  ${kernelFiles.join("\n  ")}`
      : `Not in ${os.name}, as apt knows it:\n  ${kernel} for ${KERNEL_USER}`,
  )
if (!isDry) {
  if (plan.install.length > 0)
    run("apt-get", ["install", "-y", "--no-install-recommends", ...plan.install.map(({ name }) => name)])
  if (kernelFiles.length > 0) unpackKernel(kernelFiles)
  spawnSync(process.execPath, [DOCTOR], { stdio: "inherit" })
}
