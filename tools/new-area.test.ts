import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type TestContext, test } from "node:test"

/** A copy of what is committed or about to be, with the same packages; those of the workspace are the copy's own. */
const copyTree = (t: TestContext): { readonly folder: string; readonly files: readonly string[] } => {
  const folder = mkdtempSync(join(tmpdir(), "svc-new-area-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  })
  const files = listed.trim().split("\n")
  for (const file of files) cpSync(file, join(folder, file), { recursive: true })
  mkdirSync(join(folder, "node_modules", "@svc"), { recursive: true })
  for (const name of readdirSync("node_modules").filter(name => name !== "@svc" && name !== ".cache"))
    symlinkSync(resolve("node_modules", name), join(folder, "node_modules", name))
  for (const name of readdirSync("node_modules/@svc"))
    symlinkSync(join(folder, "packages", name), join(folder, "node_modules", "@svc", name))
  return { folder, files }
}

const linesOf = (folder: string, file: string) => readFileSync(join(folder, file), "utf8").split("\n")

test("a new area works, and is one line outside its folder and the contract", t => {
  const { folder, files } = copyTree(t)
  const run = (...words: string[]) =>
    execFileSync(process.execPath, words, {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: process.env.PATH },
    })

  run("tools/new-area.ts", "notes")

  const changed = files.filter(
    file =>
      !readFileSync(file).equals(readFileSync(join(folder, file))) && !file.startsWith("packages/contract/"),
  )
  assert.deepEqual(changed, ["packages/server/src/areas.ts"])
  const before = new Set(linesOf(".", "packages/server/src/areas.ts"))
  const added = linesOf(folder, "packages/server/src/areas.ts").filter(line => !before.has(line))
  assert.deepEqual(added, ['export { notes } from "./areas/notes/module.ts"'])

  run("tools/gen.ts")
  assert.match(run("tools/test.ts", "packages/server/src/areas/notes/notes.test.ts"), /^ℹ pass 2$/m)
})
