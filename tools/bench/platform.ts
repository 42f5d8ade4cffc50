/** The platform as a user starts it, for measurements. */
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { performance } from "node:perf_hooks"

/** What `npm start` runs. */
const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: { start: string } }
const START = scripts.start

export const PORT = 14_800

export interface Started {
  readonly process: ChildProcess
  readonly ms: number
}

/** Starts the platform as a user would and waits until it really serves; a second one needs a port of its own. */
export const start = async (
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  port = PORT,
): Promise<Started> => {
  const from = performance.now()
  const child = spawn(process.execPath, START.split(" ").slice(1), {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...{ PATH: process.env.PATH, SVC_PORT: String(port), SVC_DATA_DIR: dataDir, SVC_RATE_LIMIT: "off" },
      ...env,
    },
  })
  while (!(await answers(`http://127.0.0.1:${port}/health/ready`))) {
    if (child.exitCode !== null) throw new Error("the platform did not start")
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  return { process: child, ms: performance.now() - from }
}

const answers = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}

export const stop = async (child: ChildProcess): Promise<void> => {
  const gone = new Promise(resolve => child.once("exit", resolve))
  child.kill("SIGTERM")
  await gone
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

export const apiKeyOf = (dataDir: string): string =>
  (JSON.parse(readFileSync(join(dataDir, "first-run.json"), "utf8")) as { api_key: string }).api_key
