/** An archive as the kernel takes it for its first file system (kernel docs, driver-api/early-userspace/buffer-format.rst). */

export interface Entry {
  /** Without a slash before it; its directories are made. */
  readonly path: string
  readonly bytes: Uint8Array
  readonly isProgram?: boolean
}

const DIRECTORY = 0o040755
const FILE = 0o100644
const PROGRAM = 0o100755

const padded = (bytes: Uint8Array): readonly Uint8Array[] => [bytes, new Uint8Array(-bytes.length & 3)]

const record = (number: number, path: string, mode: number, bytes: Uint8Array): readonly Uint8Array[] => {
  const name = Buffer.from(`${path}\0`)
  const isDirectory = mode === DIRECTORY
  // ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check
  const fields = [number, mode, 0, 0, isDirectory ? 2 : 1, 0, bytes.length, 0, 0, 0, 0, name.length, 0]
  const header = `070701${fields.map(field => field.toString(16).padStart(8, "0")).join("")}`
  return [...padded(Buffer.concat([Buffer.from(header), name])), ...padded(bytes)]
}

/** The same bytes for the same entries, whenever and by whomever it is made. */
export const cpioOf = (entries: readonly Entry[]): Buffer => {
  const none = new Uint8Array()
  const directories = new Set<string>()
  for (const { path } of entries) {
    const parts = path.split("/").slice(0, -1)
    for (const index of parts.keys()) directories.add(parts.slice(0, index + 1).join("/"))
  }
  const all = [
    ...[...directories].sort().map(path => ({ path, mode: DIRECTORY, bytes: none })),
    ...entries.map(({ path, bytes, isProgram }) => ({ path, mode: isProgram ? PROGRAM : FILE, bytes })),
    { path: "TRAILER!!!", mode: 0, bytes: none },
  ]
  return Buffer.concat(all.flatMap(({ path, mode, bytes }, index) => record(index + 1, path, mode, bytes)))
}
