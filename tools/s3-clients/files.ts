/** Files that clients send, and whether they came back whole. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

const MIB = 1024 ** 2

export interface Tree {
  readonly folder: string
  /** Paths in the folder. */
  readonly names: readonly string[]
  /** One that clients send in parts. */
  readonly large: string
  readonly small: string
}

/** Small files with awkward names, one in a folder, and one that is sent in parts. */
export const makeTree = (parent: string): Tree => {
  const folder = mkdtempSync(join(parent, "tree-"))
  const files: Record<string, Buffer> = {
    "plain.txt": Buffer.from("hello"),
    empty: Buffer.alloc(0),
    "with blank + plus & é.txt": Buffer.from("odd"),
    "deeper/still/file.bin": randomBytes(100_000),
    "large.bin": randomBytes(20 * MIB),
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return {
    folder,
    names: Object.keys(files).sort(),
    large: join(folder, "large.bin"),
    small: join(folder, "plain.txt"),
  }
}

export const assertSameFile = (one: string, other: string): void =>
  assert.ok(readFileSync(one).equals(readFileSync(other)), `${other} differs`)

/** The other folder has the same files with the same content, and no more. */
export const assertSameTree = ({ folder, names }: Tree, other: string): void => {
  const found = readdirSync(other, { recursive: true, encoding: "utf8" }).filter(name =>
    statSync(join(other, name)).isFile(),
  )
  assert.deepEqual(found.sort(), names)
  for (const name of names) assertSameFile(join(folder, name), join(other, name))
}
