import assert from "node:assert/strict"
import { glob, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { allOperations, faultCodes, faultSpec } from "../packages/contract/src/index.ts"
import { renderErrorPages } from "./gen-errors.ts"

const root = join(import.meta.dirname, "..")
const folder = join(root, "docs/errors")

const textsOf = async (patterns: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  const names = await Array.fromAsync(glob([...patterns], { cwd: root }))
  return new Map(
    await Promise.all(names.map(async name => [name, await readFile(join(root, name), "utf8")] as const)),
  )
}

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

test("the helps of errors and the guides name operations and settings that exist", async () => {
  const shapeOf = (path: string) => path.replace(/\?.*/, "").replaceAll(/\{[^}]*\}/g, "{}")
  const operations = new Set(allOperations.map(({ method, path }) => `${method} ${shapeOf(path)}`))
  const settings = await readFile(join(root, "docs/generated/configuration.md"), "utf8")
  const ofClients = new Set(["SVC_TOKEN", "SVC_API_URL", "SVC_PROJECT"])
  const helps = faultCodes.filter(code => !faultSpec(code).planned).map(code => [code, faultSpec(code).help])
  const guides = await textsOf(["README.md", "docs/*.md", "docs/guides/*.md"])
  const wrong = [...helps, ...guides].flatMap(([name = "", text = ""]) => [
    ...[...text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/[\w/{}.?=-]*[\w}])/g)]
      .filter(([, method, path = ""]) => !operations.has(`${method} ${shapeOf(path)}`))
      .map(([operation]) => `${name}: ${operation}`),
    ...[...text.matchAll(/\bSVC_[A-Z0-9_]+/g)]
      .filter(([setting]) => !settings.includes(`\`${setting}\``) && !ofClients.has(setting))
      .map(([setting]) => `${name}: ${setting}`),
  ])
  assert.deepEqual(wrong, [])
})

test("a code is planned exactly while nothing answers with it", async () => {
  const sources = [
    ...(await textsOf(["packages/server/src/**/*.ts", "packages/sdk/src/*.ts"])),
    ...(await textsOf(["packages/contract/src/*.ts"])),
  ].filter(([name]) => !/\.test\.ts$|\.gen\.ts$|\/testing\//.test(name))
  const words = new Set(
    sources.flatMap(([, text]) => [...text.matchAll(/\b[a-z0-9_]+\b/g)].map(([word]) => word)),
  )
  // The SDK makes its code from an approval's status.
  words.add("approval_rejected")
  const silent = faultCodes.filter(code => !words.has(code))
  assert.deepEqual(
    silent,
    faultCodes.filter(code => faultSpec(code).planned),
  )
})
