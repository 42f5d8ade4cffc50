/**
 * `npm run doctor`: which drivers run sandboxes, computers and functions on this machine, and what the others lack. Only
 * the one that SVC_RUNTIME names is tried, if it names one; `--json` gives JSON.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readConfig } from "./config.ts"
import { StartupError } from "./kernel/startup-error.ts"
import { openRuntime, tryRuntimes } from "./ports/runtime/index.ts"
import { runtimeOptions } from "./ports/runtime/module.ts"
import { settings } from "./ports/runtime/settings.ts"
import { renderTrials } from "./ports/runtime/trials.ts"

const examine = async (): Promise<string> => {
  // Not the data folder: a platform may be running on it.
  const dataDir = await mkdtemp(join(tmpdir(), "svc-doctor-"))
  try {
    const config = readConfig(process.env)
    const options = runtimeOptions(config.of(settings), { ...config, dataDir }, () => undefined)
    const trials = await tryRuntimes(options)
    await using runtime = await openRuntime(options)
    const choice = { demand: options.demand, chosen: runtime.capabilities }
    return process.argv.includes("--json")
      ? JSON.stringify({ trials, ...choice })
      : renderTrials(trials, choice)
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

try {
  process.stdout.write(`${await examine()}\n`)
} catch (error) {
  if (!(error instanceof StartupError)) throw error
  process.stderr.write(`${error.message}\n${error.hint}\n`)
  process.exitCode = 1
}
