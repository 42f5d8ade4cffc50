/**
 * Guests that have come as far as all guests come, written down: others begin as copies of them, which takes a tenth of
 * the time. A template fits one QEMU, one kernel, one first file system and the machine's programs as they are.
 */
import { execFile } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import {
  access,
  chmod,
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { PortError } from "../../../port-error.ts"
import { words } from "../../guest/frames.ts"
import type { Launched, LaunchRequest } from "../process/launcher.ts"
import { initrdOf } from "./initrd.ts"
import { findKernel, type GuestKernel } from "./kernel.ts"
import { argumentsOf, type Shape } from "./machine.ts"

export interface Templates {
  /** The folder of one, made now if there is none. Rejects with `unavailable` when no guest comes that far. */
  of(shape: Shape, bootMsMax: number): Promise<string>
}

export interface TemplateOptions {
  readonly directory: string
  readonly qemu: string
  readonly perl: string
  readonly kernelDir: string
  /** What a launch needs that is the same for all, with a user that is nobody's. */
  readonly request: LaunchRequest
  readonly launch: (request: LaunchRequest) => Promise<Launched>
}

/** Programs come into these, or go, when packages are installed, upgraded or removed. */
const ofPrograms = ["/usr/bin", "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/var/lib/dpkg/status"]

const sha256 = (...parts: readonly (string | Uint8Array)[]) => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("hex").slice(0, 16)
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

const programsNow = async (): Promise<string> => {
  const times = await Promise.all(
    ofPrograms.map(path =>
      stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  )
  return times.join()
}

/** What has its last name must be whole after a power cut too: nobody would make it anew. */
const sync = async (path: string): Promise<void> => {
  await using file = await open(path)
  await file.sync()
}

/** Files that are there whole or not at all. */
const place = async (path: string, write: (beside: string) => Promise<void>): Promise<void> => {
  if (await exists(path)) return
  const beside = `${path}-${randomUUID()}`
  await write(beside)
  await chmod(beside, 0o644)
  await sync(beside)
  await rename(beside, path)
}

const baseAt = async (options: TemplateOptions, base: string, kernel: GuestKernel, initrd: Buffer) => {
  const folder = join(options.directory, base)
  for (const other of await readdir(options.directory))
    if (other !== base) await rm(join(options.directory, other), { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await place(join(folder, "kernel"), beside => copyFile(kernel.imagePath, beside))
  await place(join(folder, "initrd"), beside => writeFile(beside, initrd))
  return folder
}

const make = async (options: TemplateOptions, base: string, shape: Shape, msMax: number): Promise<string> => {
  const { accelerator, processors, memoryBytes, hasNetwork } = shape
  const kind = hasNetwork ? `${accelerator}-network` : accelerator
  const folder = join(base, `${kind}-${processors}-${memoryBytes / 2 ** 20}`)
  if (await exists(folder)) return folder
  const into = `${folder}-${randomUUID()}`
  await mkdir(into, { mode: 0o700 })
  try {
    const { pid, socket, ended } = await options.launch([
      ...options.request,
      ...[["into", into] as const, ["kernel", join(base, "kernel")] as const],
      ["initrd", join(base, "initrd")],
      ...(hasNetwork ? [["has_network", "1"] as const] : []),
      ["arguments", words(...argumentsOf(shape, { beginning: "template", hasDisk: false }))],
    ])
    const timer = setTimeout(() => process.kill(pid, "SIGKILL"), msMax)
    socket.on("error", () => undefined).resume()
    await ended
    clearTimeout(timer)
    socket.destroy()
    // Written last.
    if ((await stat(join(into, "nodes"))).size === 0)
      throw new PortError("unavailable", `no guest came up under ${accelerator} within ${msMax / 1000} s`)
    for (const name of await readdir(into)) await sync(join(into, name))
    await rename(into, folder)
    return folder
  } catch (error) {
    await rm(into, { recursive: true, force: true })
    throw error
  }
}

export const openTemplates = async (options: TemplateOptions): Promise<Templates> => {
  const { directory, qemu, perl, kernelDir } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { stdout: version } = await promisify(execFile)(qemu, ["--version"], { timeout: 10_000 })
  const kernel = await findKernel(kernelDir)
  const initrd = await initrdOf(perl, kernel)
  const fixed = sha256(version, await readFile(kernel.imagePath), initrd)
  const bases = new Map<string, Promise<string>>()
  const templates = new Map<string, Promise<string>>()
  const once = (known: Map<string, Promise<string>>, key: string, work: () => Promise<string>) => {
    const found = known.get(key)
    if (found) return found
    const made = work()
    known.set(key, made)
    made.catch(() => known.delete(key))
    return made
  }
  return {
    async of(shape, bootMsMax) {
      const probe = { beginning: "template", hasDisk: false } as const
      const programs = sha256(fixed, await programsNow())
      const base = await once(bases, programs, () => baseAt(options, programs, kernel, initrd))
      const key = `${programs} ${sha256(JSON.stringify(argumentsOf(shape, probe)))}`
      return once(templates, key, () => make(options, base, shape, bootMsMax))
    },
  }
}
