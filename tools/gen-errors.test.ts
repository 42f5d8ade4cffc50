import assert from "node:assert/strict"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { renderErrorPages } from "./gen-errors.ts"

const folder = join(import.meta.dirname, "../docs/errors")

test("docs/errors holds one page for each code on the wire, as the table of faults has it", async () => {
  const pages = renderErrorPages()
  const present = (await readdir(folder)).filter(name => name.endsWith(".md"))
  assert.deepEqual(present.sort(), [...pages.keys()].sort(), "run npm run gen")
  for (const [name, content] of pages)
    assert.equal(await readFile(join(folder, name), "utf8"), content, `${name} is old: run npm run gen`)
})

test("two texts of one code share a page", () => {
  const page = renderErrorPages().get("project_required.md") ?? ""
  assert.match(page, /> this operation requires a project-scoped API key/)
  assert.match(page, /> storage API requires a project-scoped API key/)
})
