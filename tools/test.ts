/**
 * `npm test [files…]`: one PostgreSQL for all test files, then the ledger of what they did not touch. With
 * `LEDGER_WRITE=1` a run of all files writes that list anew.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { glob } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeTemplatesDir, startTestServer } from "../packages/server/src/testing/database.ts"
import { checkLedger } from "./check-ledger.ts"

/** Far beyond what any file takes, also on a machine that does much else: what lasts so long has no end. */
const HANGS_MS = 1_200_000

/** One more than the cores of a small machine: many tests wait for what they have killed, or for a clock of others. */
const CONCURRENCY = 3

const given = process.argv.slice(2)
const files =
  given.length > 0 ? given : await Array.fromAsync(glob(["packages/*/src/**/*.test.ts", "tools/*.test.ts"]))

const folder = mkdtempSync(join(tmpdir(), "svc-ledger-"))
const ledger = join(folder, "statuses")
const templates = await makeTemplatesDir()

const run = async (): Promise<number> => {
  await using server = await startTestServer()
  const child = spawn(
    process.execPath,
    ["--test", `--test-concurrency=${CONCURRENCY}`, `--test-timeout=${HANGS_MS}`, ...files],
    {
      stdio: "inherit",
      env: {
        ...process.env,
        SVC_TEST_SERVER: server.url,
        SVC_TEST_LEDGER: ledger,
        SVC_TEST_TEMPLATES: templates,
        // Every file is a process of its own that loads the whole platform; compiled code is kept between them.
        NODE_COMPILE_CACHE: join(import.meta.dirname, "../node_modules/.cache/compiled"),
      },
    },
  )
  // Ctrl-C ends the tests; the server must not outlive them.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      // The runner's own words for a file that it had to end are of a promise that stays pending.
      process.stderr.write(`${signal}: the tests that still run are ended\n`)
      child.kill(signal)
    })
  }
  return await new Promise(resolve => child.once("exit", code => resolve(code ?? 1)))
}

const failed = await run()
const isWhole = given.length === 0 && (failed === 0 || process.env.LEDGER_WRITE === "1")
const gaps = isWhole ? checkLedger(ledger) : []
for (const path of [folder, templates]) rmSync(path, { recursive: true, force: true })
for (const gap of gaps) process.stderr.write(`${gap}\n`)
process.exitCode = failed || (gaps.length > 0 ? 1 : 0)
