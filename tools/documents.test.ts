/**
 * The commands of README and the guides, run as written in a folder with a platform that was just started.
 * A block ```sh no-test is for the reader alone; ```sh needs=sandboxes is left out by name where the area does not work.
 * What commands print is compared with the ```output behind them (documents/output.ts); ```sh eventually is run again until
 * it prints that.
 */
import assert from "node:assert/strict"
import { mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { glob } from "node:fs/promises"
import { join, resolve } from "node:path"
import { type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import { freePort } from "../packages/server/src/testing/ports.ts"
import { dataFolder, readFirstRun, spawnSvc } from "../packages/server/src/testing/process.ts"
import { type CommandBlock, readBlocks } from "./documents/blocks.ts"
import { isOutput } from "./documents/output.ts"
import { PageShell } from "./documents/shell.ts"

const root = resolve(import.meta.dirname, "..")

/** Where pages say that the HTTP API, PostgreSQL and ssh are. */
const PAGE_PORTS = [4800, 4801, 4802] as const

interface Server {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** A text of a page with the ports of this server in place of the usual ones. */
  localize(text: string): string
  /** Names of the areas that work on this machine. */
  readonly areas: ReadonlySet<string>
}

const startServer = async (t: TestContext): Promise<Server> => {
  const folder = dataFolder(t)
  const dataDir = join(folder, ".svc")
  mkdirSync(dataDir, { mode: 0o711 })
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  const ports = await Promise.all(PAGE_PORTS.map(() => freePort()))
  const [http, postgres, ssh] = ports.map(String)
  const svc = spawnSvc(t, {
    dataDir,
    env: {
      SVC_PORT: http ?? "",
      SVC_POSTGRES_PORT: postgres ?? "",
      SVC_SSH_PORT: ssh ?? "",
      // As the page on webhooks has it: its receiver is on this machine.
      SVC_OUTBOUND_ALLOW: "127.0.0.1/32",
      // The quickest driver, and the same on every machine.
      SVC_RUNTIME: "process",
      SVC_WORKLOAD_NETWORK: "none",
      // A busy machine takes longer than the usual 200 ms for a question.
      SVC_TEXT_TO_SQL_MS: "60000",
    },
  })
  const url = await svc.ready
  const { api_key } = readFirstRun(dataDir)
  const response = await fetch(`${url}/api/v1/services`, { headers: { authorization: `Bearer ${api_key}` } })
  const { data } = (await response.json()) as { data: { services: { name: string; status: string }[] } }
  return {
    folder,
    env: {
      PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
      HOME: folder,
      LANG: "C.UTF-8",
      SVC_API_URL: url,
      SVC_TOKEN: api_key,
    },
    localize: text =>
      PAGE_PORTS.reduce((words, port, index) => words.replaceAll(String(port), String(ports[index])), text),
    areas: new Set(data.services.filter(({ status }) => status === "available").map(({ name }) => name)),
  }
}

const reasonNotToRun = ({ isNotTested, needs }: CommandBlock, { areas }: Server): string | undefined => {
  if (isNotTested) return "for the reader alone"
  if (needs !== undefined && !areas.has(needs)) return `${needs} do not work on this machine`
  return undefined
}

const EVENTUALLY_MS_MAX = 60_000
const PAUSE_MS = 200

const runBlock = async (shell: PageShell, { commands, output, isEventual }: CommandBlock): Promise<void> => {
  const deadline = Date.now() + EVENTUALLY_MS_MAX
  for (;;) {
    const { isDone, printed, errors } = await shell.run(commands)
    assert.ok(isDone, `a command failed: ${printed}${errors}`)
    if (output === undefined || isOutput(printed, output)) return
    if (!isEventual || Date.now() > deadline)
      assert.fail(`it printed\n${printed}\nand not\n${output}\n${errors}`)
    await delay(PAUSE_MS)
  }
}

const runPage = async (t: TestContext, page: string, server: Server): Promise<void> => {
  await using shell = new PageShell(server.folder, server.env)
  let isWhole = true
  for (const block of readBlocks(server.localize(readFileSync(join(root, page), "utf8")))) {
    const reason = reasonNotToRun(block, server) ?? (isWhole ? undefined : "a block before it failed")
    await t.test(`${page}:${block.line}`, { skip: reason ?? false }, async () => {
      isWhole = false
      await runBlock(shell, block)
      isWhole = true
    })
  }
}

test("the commands of README and the guides do what the pages say", async t => {
  const server = await startServer(t)
  const guides = await Array.fromAsync(glob("docs/guides/*.md", { cwd: root }))
  for (const page of ["README.md", ...guides.sort(), "docs/operations.md", "docs/security.md"])
    await t.test(page, inner => runPage(inner as TestContext, page, server))
})

test("what commands print is compared line by line, but for what a page leaves open", () => {
  assert.ok(isOutput("id   01a2\nname x\n", "id …\nname x"))
  assert.ok(isOutput("a\nb\nc\n", "a\n…\nc"))
  assert.ok(!isOutput("id 01a2\nname y\n", "id …\nname x"))
  assert.ok(!isOutput("a\nb\n", "a"))
  assert.ok(!isOutput("a.b\n", "a+b"))
})

test("a block that says what nobody understands, or an output of nothing, is refused", () => {
  assert.throws(() => readBlocks("```sh notest\nls\n```\n"), /notest/)
  assert.throws(() => readBlocks("text\n\n```output\nx\n```\n"), /without its commands/)
  assert.deepEqual(
    readBlocks("```sh needs=kv\nls\n```\n\n```output\nx\n```\n").map(({ output, needs }) => ({
      output,
      needs,
    })),
    [{ output: "x", needs: "kv" }],
  )
})
