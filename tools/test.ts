/**
 * `npm test [files…]`: one PostgreSQL for all test files, the slowest files, then the ledger of what no test touched.
 * `--engines` runs the suites that `npm test` leaves out: `*.engine.test.ts`. `--again` runs each file that failed once
 * more, alone, and names it `flaky:` if it passes then. `--costs` prints what every file cost. With `LEDGER_WRITE=1` a
 * run of all files writes the ledger's list anew.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { glob } from "node:fs/promises"
import { availableParallelism, tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"
import { run as runTests } from "node:test"
import { spec } from "node:test/reporters"
import { makeTemplatesDir, startTestServer } from "../packages/server/src/testing/database.ts"
import { tryBundle } from "./bundle.ts"
import { checkLedger } from "./check-ledger.ts"
import { processorSeconds } from "./processor-time.ts"
import { COSTS_VARIABLE, type FileCost } from "./test-cost.ts"
import { isEngineSuite, longestFirst } from "./test-order.ts"

/** Longer than any test file takes, also on a busy machine: a file that is not done by then hangs. */
const HANGS_MS = 1_200_000

/** Two more than the cores of a small machine: the files that take longest wait for workloads most of their time. */
const CONCURRENCY = 4

/** More failed files than this are no accident, so they are not run again. */
const AGAIN_MAX = 8

const SLOWEST = 20

const flags = new Set(process.argv.slice(2).filter(word => word.startsWith("--")))
const given = process.argv.slice(2).filter(word => !word.startsWith("--"))

const allFiles = async (): Promise<string[]> => {
  const found = await Array.fromAsync(glob(["packages/*/src/**/*.test.ts", "tools/*.test.ts"]))
  return found.filter(file => isEngineSuite(file) === flags.has("--engines"))
}
const files = given.length > 0 ? given : await allFiles()

const folder = mkdtempSync(join(tmpdir(), "svc-ledger-"))
const ledger = join(folder, "statuses")
const templates = await makeTemplatesDir()

interface Outcome {
  readonly isPassed: boolean
  /** Files with a failed test, or whose process failed. */
  readonly failed: readonly string[]
  readonly durations: ReadonlyMap<string, number>
  readonly costs: ReadonlyMap<string, number>
}

const readCosts = (path: string): Map<string, number> => {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : []
  const costs = lines.filter(line => line !== "").map(line => JSON.parse(line) as FileCost)
  return new Map(costs.map(cost => [cost.file, cost.processorSeconds]))
}

const run = async (serverUrl: string, names: readonly string[]): Promise<Outcome> => {
  const costs = join(mkdtempSync(join(folder, "run-")), "costs")
  Object.assign(process.env, {
    SVC_TEST_SERVER: serverUrl,
    SVC_TEST_LEDGER: ledger,
    SVC_TEST_TEMPLATES: templates,
    // Every file is a process of its own that loads the whole platform; compiled code is kept between them.
    NODE_COMPILE_CACHE: join(import.meta.dirname, "../node_modules/.cache/compiled"),
    [COSTS_VARIABLE]: costs,
  })
  const ended = new AbortController()
  // Ctrl-C ends the tests; the server must not outlive them.
  const end = (signal: NodeJS.Signals) => {
    process.stderr.write(`${signal}: the tests that still run are ended\n`)
    flags.delete("--again")
    ended.abort()
  }
  process.once("SIGINT", end).once("SIGTERM", end)
  const failed = new Set<string>()
  const durations = new Map<string, number>()
  let isPassed = false
  const events = runTests({
    files: longestFirst(names).map(name => resolve(name)),
    concurrency: CONCURRENCY,
    timeout: HANGS_MS,
    execArgv: ["--import", join(import.meta.dirname, "test-cost.ts")],
    signal: ended.signal,
  })
  events.on("test:fail", ({ file }) => file !== undefined && failed.add(file))
  events.on("test:summary", ({ file, success, duration_ms }) => {
    if (file === undefined) isPassed = success
    else durations.set(file, duration_ms)
  })
  for await (const text of events.compose(spec())) process.stdout.write(text)
  process.off("SIGINT", end).off("SIGTERM", end)
  return { isPassed, failed: [...failed], durations, costs: readCosts(costs) }
}

const shown = (file: string): string => relative(resolve(import.meta.dirname, ".."), file)

const inColumn = (seconds: number | undefined): string => (seconds?.toFixed(1) ?? "?").padStart(7)

const printSlowest = ({ durations, costs }: Outcome): void => {
  const shownMax = flags.has("--costs") ? durations.size : SLOWEST
  const slowest = [...durations].sort(([, a], [, b]) => b - a).slice(0, shownMax)
  process.stdout.write("slowest files: seconds, and of the processors\n")
  for (const [file, ms] of slowest)
    process.stdout.write(`${inColumn(ms / 1000)} ${inColumn(costs.get(file))}  ${shown(file)}\n`)
}

/** Runs each failed file alone. Returns those that failed again. */
const runAgain = async (serverUrl: string, failed: readonly string[]): Promise<string[]> => {
  const broken: string[] = []
  for (const file of failed) {
    process.stdout.write(`once more, alone: ${shown(file)}\n`)
    const { isPassed } = await run(serverUrl, [file])
    if (isPassed) process.stdout.write(`flaky: ${shown(file)}\n`)
    else broken.push(file)
  }
  return broken
}

const runAll = async (): Promise<boolean> => {
  // Tests that start the server as its operator does then run the bundle.
  await tryBundle(resolve(import.meta.dirname, ".."))
  await using server = await startTestServer()
  const outcome = await run(server.url, files)
  if (given.length === 0 || flags.has("--costs")) printSlowest(outcome)
  const { isPassed, failed } = outcome
  if (isPassed || !flags.has("--again")) return isPassed
  if (failed.length === 0 || failed.length > AGAIN_MAX) return isPassed
  const broken = await runAgain(server.url, failed)
  for (const file of broken) process.stdout.write(`failed twice: ${shown(file)}\n`)
  return broken.length === 0
}

const startedMs = performance.now()
const isPassed = await runAll()
const wholeSeconds = (performance.now() - startedMs) / 1000
process.stdout.write(
  `${wholeSeconds.toFixed(0)} s on ${availableParallelism()} processors, ${processorSeconds().toFixed(0)} s of them used\n`,
)
const isWhole =
  given.length === 0 && !flags.has("--engines") && (isPassed || process.env.LEDGER_WRITE === "1")
const gaps = isWhole ? checkLedger(ledger) : []
for (const path of [folder, templates]) rmSync(path, { recursive: true, force: true })
for (const gap of gaps) process.stderr.write(`${gap}\n`)
process.exitCode = isPassed && gaps.length === 0 ? 0 : 1
