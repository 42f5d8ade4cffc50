/**
 * `npm test [files…]`: one PostgreSQL for all test files, the slowest files, then the ledger of what no test touched.
 * `--again` runs each file that failed once more, alone, and names it `flaky:` if it passes then. With
 * `LEDGER_WRITE=1` a run of all files writes the ledger's list anew.
 */
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { glob } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"
import { makeTemplatesDir, startTestServer } from "../packages/server/src/testing/database.ts"
import { tryBundle } from "./bundle.ts"
import { checkLedger } from "./check-ledger.ts"
import type { FileLine } from "./test-files-reporter.ts"

/** Longer than any test file takes, also on a busy machine: a file that is not done by then hangs. */
const HANGS_MS = 1_200_000

/** One more than the cores of a small machine: many tests wait for a process to end or for a clock to advance. */
const CONCURRENCY = 3

/** More failed files than this are no accident, so they are not run again. */
const AGAIN_MAX = 8

const SLOWEST = 20

const flags = new Set(process.argv.slice(2).filter(word => word.startsWith("--")))
const given = process.argv.slice(2).filter(word => !word.startsWith("--"))
const files =
  given.length > 0 ? given : await Array.fromAsync(glob(["packages/*/src/**/*.test.ts", "tools/*.test.ts"]))

const folder = mkdtempSync(join(tmpdir(), "svc-ledger-"))
const ledger = join(folder, "statuses")
const templates = await makeTemplatesDir()

interface Outcome {
  readonly exitCode: number
  /** Files with a failed test, or whose process failed. */
  readonly failed: readonly string[]
  readonly durations: ReadonlyMap<string, number>
}

const readOutcome = (exitCode: number, lines: string): Outcome => {
  const text = existsSync(lines) ? readFileSync(lines, "utf8") : ""
  const records = text
    .split("\n")
    .filter(line => line !== "")
    .map(line => JSON.parse(line) as FileLine)
  return {
    exitCode,
    failed: [
      ...new Set(records.filter(({ durationMs }) => durationMs === undefined).map(({ file }) => file)),
    ],
    durations: new Map(
      records.flatMap(({ file, durationMs }) => (durationMs === undefined ? [] : [[file, durationMs]])),
    ),
  }
}

const run = async (serverUrl: string, names: readonly string[]): Promise<Outcome> => {
  const lines = join(mkdtempSync(join(folder, "run-")), "files")
  const child = spawn(
    process.execPath,
    [
      "--test",
      `--test-concurrency=${CONCURRENCY}`,
      `--test-timeout=${HANGS_MS}`,
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      `--test-reporter=${join(import.meta.dirname, "test-files-reporter.ts")}`,
      `--test-reporter-destination=${lines}`,
      ...names,
    ],
    {
      stdio: "inherit",
      env: {
        ...process.env,
        SVC_TEST_SERVER: serverUrl,
        SVC_TEST_LEDGER: ledger,
        SVC_TEST_TEMPLATES: templates,
        // Every file is a process of its own that loads the whole platform; compiled code is kept between them.
        NODE_COMPILE_CACHE: join(import.meta.dirname, "../node_modules/.cache/compiled"),
      },
    },
  )
  // Ctrl-C ends the tests; the server must not outlive them.
  const end = (signal: NodeJS.Signals) => {
    process.stderr.write(`${signal}: the tests that still run are ended\n`)
    flags.delete("--again")
    child.kill(signal)
  }
  process.once("SIGINT", end).once("SIGTERM", end)
  const exitCode = await new Promise<number>(settle => child.once("exit", code => settle(code ?? 1)))
  process.off("SIGINT", end).off("SIGTERM", end)
  return readOutcome(exitCode, lines)
}

const shown = (file: string): string => relative(resolve(import.meta.dirname, ".."), file)

const printSlowest = ({ durations }: Outcome): void => {
  const slowest = [...durations].sort(([, a], [, b]) => b - a).slice(0, SLOWEST)
  process.stdout.write("slowest files\n")
  for (const [file, ms] of slowest)
    process.stdout.write(`${(ms / 1000).toFixed(1).padStart(7)} s  ${shown(file)}\n`)
}

/** Runs each failed file alone. Returns those that failed again. */
const runAgain = async (serverUrl: string, failed: readonly string[]): Promise<string[]> => {
  const broken: string[] = []
  for (const file of failed) {
    process.stdout.write(`once more, alone: ${shown(file)}\n`)
    const { exitCode } = await run(serverUrl, [file])
    if (exitCode === 0) process.stdout.write(`flaky: ${shown(file)}\n`)
    else broken.push(file)
  }
  return broken
}

const runAll = async (): Promise<number> => {
  // Tests that start the server as its operator does then run the bundle.
  await tryBundle(resolve(import.meta.dirname, ".."))
  await using server = await startTestServer()
  const outcome = await run(server.url, files)
  if (files.length > SLOWEST) printSlowest(outcome)
  const { exitCode, failed } = outcome
  if (exitCode === 0 || !flags.has("--again")) return exitCode
  if (failed.length === 0 || failed.length > AGAIN_MAX) return exitCode
  const broken = await runAgain(server.url, failed)
  for (const file of broken) process.stdout.write(`failed twice: ${shown(file)}\n`)
  return broken.length === 0 ? 0 : 1
}

const failed = await runAll()
const isWhole = given.length === 0 && (failed === 0 || process.env.LEDGER_WRITE === "1")
const gaps = isWhole ? checkLedger(ledger) : []
for (const path of [folder, templates]) rmSync(path, { recursive: true, force: true })
for (const gap of gaps) process.stderr.write(`${gap}\n`)
process.exitCode = failed || (gaps.length > 0 ? 1 : 0)
