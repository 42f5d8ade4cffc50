/**
 * `npm run schemathesis`: requests that schemathesis makes of the OpenAPI document, sent to a server on a fresh data folder
 * that has one thing of every kind, with every check on. A run is bounded by its number of examples; `--examples 100` looks
 * longer, `--phases examples,coverage,fuzzing,stateful` at more kinds of requests, `--seed 7` elsewhere, `--operation kvSet`
 * at one operation. `--keep FOLDER` leaves there what was sent and answered. A run over all operations whose phases are
 * examples and coverage fails if an operation reaches no success and tools/contract/exclusions.ts does not say why.
 * `--minutes 20` repeats fuzzing and stateful runs until 20 minutes have passed.
 */
import { spawn } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { describeExclusions } from "./contract/exclusions.ts"
import { hasPython, pythonTool } from "./contract/python.ts"
import { readReached } from "./contract/reached.ts"
import { startSeededServer } from "./contract/seeds.ts"
import { renderSettings } from "./contract/settings.ts"

const { values: options } = parseArgs({
  options: {
    examples: { type: "string", default: "3" },
    seed: { type: "string", default: "20261123" },
    operation: { type: "string", multiple: true, default: [] },
    phases: { type: "string", default: "examples,fuzzing" },
    workers: { type: "string", default: "2" },
    minutes: { type: "string" },
    keep: { type: "string" },
  },
})

const runIn = (folder: string, parameters: readonly string[]): Promise<number> => {
  const child = spawn(pythonTool("st"), parameters, { cwd: folder, stdio: "inherit" })
  return new Promise(settle => child.once("exit", code => settle(code ?? 1)))
}

const main = async (folder: string): Promise<number> => {
  await using server = await startSeededServer()
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(server.document))
  writeFileSync(join(folder, "schemathesis.toml"), renderSettings(server))
  copyFileSync(join(import.meta.dirname, "contract/hooks.py"), join(folder, "hooks.py"))
  process.stdout.write(describeExclusions())
  const code = await runIn(folder, [
    "run",
    "openapi.json",
    ...["--url", server.url, "--phases", options.phases, "--checks", "all"],
    ...["--max-examples", options.examples, "--seed", options.seed, "--generation-database", "none"],
    ...(options.minutes === undefined ? [] : ["--max-time", String(Number(options.minutes) * 60)]),
    ...["--workers", options.workers, "--no-shrink", "--continue-on-failure", "--request-timeout", "60"],
    ...(options.keep === undefined ? [] : ["--report", "ndjson", "--report-ndjson-path", "events.ndjson"]),
    ...options.operation.flatMap(id => ["--include-operation-id", id]),
  ])
  // Operations without parameters are called by the coverage phase alone.
  const isWhole = options.operation.length === 0 && /examples.*coverage/.test(options.phases)
  if (!isWhole) return code
  const { text, failed } = readReached(join(folder, "reached.json"))
  process.stdout.write(text)
  return failed ? 1 : code
}

if (!hasPython()) {
  process.stdout.write("skipped: schemathesis (python3 with venv is missing)\n")
} else {
  const folder = options.keep ?? mkdtempSync(join(tmpdir(), "svc-schemathesis-"))
  try {
    process.exitCode = await main(folder)
  } finally {
    if (options.keep === undefined) rmSync(folder, { recursive: true, force: true })
  }
}
