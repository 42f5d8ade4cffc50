/** The bundle of the server and what decides whether it is run, in a small repository of their own. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { type TestContext, test } from "node:test"
import { promisify } from "node:util"
import { isFresh, stampFile } from "../packages/server/bin/bundle.js"
import { makeBundle } from "./bundle.ts"

const ROOT = resolve(import.meta.dirname, "..")

const SOURCES: Readonly<Record<string, string>> = {
  "main.ts": `import { report } from "./deep/report.ts"\nawait report()\n`,
  "doctor.ts": `process.stdout.write("healthy")\n`,
  "deep/report.ts": `
import { fork } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"
import { LRUCache } from "lru-cache"
const [message] = await once(new Worker(new URL("./worker.ts", import.meta.url)), "message")
const [sent] = await once(fork(fileURLToPath(import.meta.resolve("../other/program.ts"))), "message")
const { open } = await import("lmdb")
const from = (stack: string) => (/[/]dist[/]/.test(stack) ? "bundle" : "sources")
export const report = async (): Promise<void> => {
  const beside = readFileSync(new URL("beside.txt", import.meta.url), "utf8")
  const main = from(String(new Error().stack))
  process.stdout.write(JSON.stringify({
    main, worker: from(message), program: from(String(sent)), beside, packages: [typeof open, new LRUCache({ max: 1 }).max],
    functionName: /at (async )?report /.test(String(new Error().stack)),
  }))
}
`,
  "deep/worker.ts": `import { parentPort } from "node:worker_threads"\nparentPort?.postMessage(String(new Error().stack))\n`,
  "deep/beside.txt": "beside",
  "other/program.ts": `process.send?.(String(new Error().stack), () => process.disconnect())\n`,
}

const write = (root: string, source: string, text: string): string => {
  const path = join(root, "packages/server/src", source)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

const repository = (t: TestContext): string => {
  const root = mkdtempSync(join(tmpdir(), "svc-bundle-"))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  for (const [source, text] of Object.entries(SOURCES)) write(root, source, text)
  cpSync(join(ROOT, "packages/server/bin"), join(root, "packages/server/bin"), { recursive: true })
  mkdirSync(join(root, "tools"))
  cpSync(join(ROOT, "tools/bundle.ts"), join(root, "tools/bundle.ts"))
  writeFileSync(join(root, "package.json"), `{ "type": "module" }`)
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"))
  return root
}

const start = async (root: string, program = "start") => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(root, `packages/server/bin/${program}.js`),
  ])
  return stdout
}

const all = (from: "bundle" | "sources") => ({
  main: from,
  worker: from,
  program: from,
  beside: "beside",
  packages: ["function", 1],
  functionName: true,
})

test("the bundle finds its workers, its programs, files beside its sources and packages, as the sources do", async t => {
  const root = repository(t)
  assert.equal(await start(root, "doctor"), "healthy")
  assert.equal(existsSync(stampFile(root)), false, "only a start of the server makes a bundle")
  assert.deepEqual(JSON.parse(await start(root)), all("bundle"))
  assert.equal(await start(root, "doctor"), "healthy")
})

test("an edit is seen at the next start, whatever its size and its time", async t => {
  const root = repository(t)
  await makeBundle(root)
  const longer = write(root, "doctor.ts", 'process.stdout.write("quite healthy")')
  // As after unpacking an archive.
  utimesSync(longer, new Date(0), new Date(0))
  assert.equal(await start(root, "doctor"), "quite healthy")
  await makeBundle(root)

  const sameSize = write(root, "doctor.ts", 'process.stdout.write("quite unwell!")')
  const later = new Date(Date.now() + 60_000)
  utimesSync(sameSize, later, later)
  assert.equal(await start(root, "doctor"), "quite unwell!")

  write(root, "main.ts", 'import "./added.ts"')
  write(root, "added.ts", 'process.stdout.write("added")')
  assert.equal(await start(root), "added")
  rmSync(join(root, "packages/server/src/added.ts"))
  assert.equal(isFresh(root), false)
})

test("sources that cannot be bundled are run all the same, and an older bundle is not", async t => {
  const root = repository(t)
  await makeBundle(root)
  write(root, "other/program.ts", "this is no program")
  write(root, "main.ts", 'process.stdout.write("started")')
  await assert.rejects(makeBundle(root), /program\.ts/)
  assert.equal(existsSync(stampFile(root)), false)
  assert.equal(await start(root), "started")
})

test("an installation without the bundler runs its sources", async t => {
  const root = repository(t)
  rmSync(join(root, "tools"), { recursive: true })
  assert.deepEqual(JSON.parse(await start(root)), all("sources"))
})

test("a resource of a loop that fails once does not fail in the rounds after it", async t => {
  const root = repository(t)
  write(
    root,
    "doctor.ts",
    `const rounds: string[] = []
for (const round of ["first", "second"]) {
  try {
    await using resource = { [Symbol.asyncDispose]: async () => {} }
    if (round === "first" && resource) throw new Error("it fails")
    rounds.push(round)
  } catch {
    rounds.push("failed")
  }
}
process.stdout.write(rounds.join(" "))
`,
  )
  await makeBundle(root)
  assert.equal(await start(root, "doctor"), "failed second")
})

test("half a bundle is not run", async t => {
  const root = repository(t)
  await makeBundle(root)
  writeFileSync(stampFile(root), '{ "builtAt": 1')
  assert.equal(isFresh(root), false)
})
