/** The first file system of guests: Perl as the machine has it, the agent, and modules of the guests' kernel. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PortError } from "../../../port-error.ts"
import { librariesOf, modulesOf } from "../../agent/kit.ts"
import { cpioOf, type Entry } from "./cpio.ts"
import type { GuestKernel } from "./kernel.ts"

/** It is not told of a disk that changes, and a template has none. */
const DISK_MODULE = "virtio_blk"

/** The agent, what it is started by here, and all that these may load: in the same places below /svc. */
const portDir = fileURLToPath(new URL("../../", import.meta.url))
const portPrograms = async (): Promise<readonly Entry[]> => {
  const paths = (await readdir(portDir, { recursive: true })).filter(path => path.endsWith(".pl")).sort()
  return Promise.all(
    paths.map(async path => ({ path: `svc/${path}`, bytes: await readFile(join(portDir, path)) })),
  )
}

/** What the interpreter is linked with, and the modules that the agent uses; in the same order each time. */
const perlFiles = async (perl: string): Promise<readonly string[]> => {
  const [{ loader, libraries }, modules] = await Promise.all([librariesOf(perl), modulesOf(perl)])
  return [loader, ...[...libraries, ...modules].map(([, path]) => path).sort()]
}

export const initrdOf = async (perl: string, kernel: GuestKernel): Promise<Buffer> => {
  const entryOf = async (path: string): Promise<Entry> => ({
    path: path.slice(1),
    bytes: await readFile(path),
    isProgram: true,
  })
  try {
    return cpioOf([
      await entryOf(perl),
      ...(await Promise.all((await perlFiles(perl)).map(entryOf))),
      ...(await portPrograms()),
      { path: "init", bytes: await readFile(join(portDir, "drivers/qemu/init.pl")), isProgram: true },
      ...(await Promise.all(
        kernel.modules.map(async ({ name, path }, index) => ({
          path: `modules/${name === DISK_MODULE ? "late" : "early"}/${String(index).padStart(2, "0")}.ko`,
          bytes: await readFile(path),
        })),
      )),
    ])
  } catch (error) {
    throw new PortError(
      "refused",
      `the guests' first file system cannot be made: ${(error as Error).message}`,
      error,
    )
  }
}
