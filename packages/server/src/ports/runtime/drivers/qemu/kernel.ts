/** The guests' kernel: what a Debian package of one has, unpacked anywhere. */
import { readdir, readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { PortError } from "../../../port-error.ts"

export interface GuestKernel {
  readonly imagePath: string
  /** In the order in which they can be loaded. */
  readonly modules: readonly { readonly name: string; readonly path: string }[]
}

/** Where `npm run host` unpacks one. */
export const UNPACKED_AT = "/usr/local/lib/svc/kernel"
const MACHINE_PACKAGE = process.arch === "arm64" ? "linux-image-cloud-arm64" : "linux-image-cloud-amd64"
/** What a guest has to have, built into its kernel or as modules of it. */
const needed = ["virtio_mmio", "virtio_console", "virtio_blk", "fuse", "ext4"]
/** What they ask for by name while they run, and what some of them need: networks and images. */
const useful = ["crc32c_generic", "virtio_net", "overlay"]

/** Names in the kernel's own files and in file names differ in this alone. */
const nameOf = (path: string) =>
  basename(path)
    .replace(/\.ko(\..*)?$/, "")
    .replaceAll("-", "_")

const byVersion = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true })

/** Those a module says it depends on, which is in it as text. */
const dependenciesIn = (bytes: Buffer): readonly string[] => {
  const start = bytes.indexOf("\0depends=")
  if (start < 0) return []
  const text = bytes.toString("latin1", start + 9, bytes.indexOf(0, start + 9))
  return text.split(",").filter(Boolean).map(nameOf)
}

const inOrder = async (directory: string): Promise<GuestKernel["modules"]> => {
  const files = (await readdir(directory, { recursive: true })).filter(path => path.endsWith(".ko"))
  const paths = new Map(files.map(path => [nameOf(path), join(directory, path)]))
  const builtIn = (await readFile(join(directory, "modules.builtin"), "utf8")).split("\n").map(nameOf)
  const found = new Map<string, string>()
  const add = async (name: string): Promise<void> => {
    const path = paths.get(name)
    if (path === undefined || found.has(name)) return
    for (const other of dependenciesIn(await readFile(path))) await add(other)
    found.set(name, path)
  }
  for (const name of [...useful, ...needed]) {
    if (needed.includes(name) && !paths.has(name) && !builtIn.includes(name))
      throw new PortError("refused", `the guests' kernel in ${directory} has no ${name}`)
    await add(name)
  }
  return [...found].map(([name, path]) => ({ name, path }))
}

/** `folder` has `boot` and `lib/modules`, as the machine's own `/` when such a package is installed. */
export const findKernel = async (folder: string): Promise<GuestKernel> => {
  const names = await readdir(join(folder, "boot")).catch(() => [])
  const versions = names.filter(name => name.startsWith("vmlinuz-")).map(name => name.slice(8))
  for (const version of versions.sort(byVersion).reverse()) {
    const directory = join(folder, "lib/modules", version)
    const modules = await inOrder(directory).catch(error => {
      if (error instanceof PortError) throw error
      return undefined
    })
    if (modules) return { imagePath: join(folder, "boot", `vmlinuz-${version}`), modules }
  }
  throw new PortError(
    "refused",
    `there is no kernel for guests in ${folder}: \`npm run host\` unpacks that of the package ${MACHINE_PACKAGE}; ` +
      "SVC_QEMU_KERNEL names a folder with another",
  )
}
