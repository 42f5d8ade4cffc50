import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"

/** Bytes that the files of a folder take on disk; what it shares with others by links counts in equal parts. */
export const bytesIn = async (directory: string): Promise<number> => {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  let bytes = 0
  for (const entry of entries) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) bytes += await bytesIn(path)
    else
      bytes += await stat(path).then(
        ({ blocks, nlink }) => Math.ceil((blocks * 512) / nlink),
        // Files that go meanwhile count for nothing.
        () => 0,
      )
  }
  return bytes
}
