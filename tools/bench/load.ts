import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

export interface Target {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON by POST, where the requests are nothing else. */
  readonly body?: unknown
  /** Lines of Lua that make the requests: wrk's `request` function, or fields of `wrk`. */
  readonly lua?: readonly string[]
}

export interface Load {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** wrk waits for replies that it has asked for. */
const OVERTIME_S = 60

const jsonPost = (body: unknown): string[] => [
  'wrk.method = "POST"',
  `wrk.body = ${JSON.stringify(JSON.stringify(body))}`,
  'wrk.headers["content-type"] = "application/json"',
]

const script = ({ headers, body, lua }: Target): string =>
  [
    ...(lua ?? jsonPost(body)),
    ...Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = ${JSON.stringify(value)}`),
    "done = function(summary, latency)",
    "  local failed = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout",
    '  io.write(string.format("RESULT %f %f %f %d\\n", summary.requests / summary.duration * 1e6,',
    "    latency:percentile(50) / 1000, latency:percentile(99) / 1000, failed))",
    "end",
  ].join("\n")

/** One closed-loop run of `wrk` (Debian's package) on one thread. Throws when any request fails. */
export const load = async (target: Target, connections: number, seconds: number): Promise<Load> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-wrk-"))
  const file = join(folder, "post.lua")
  writeFileSync(file, script(target))
  try {
    const options = ["-t1", `-c${connections}`, `-d${seconds}`, "--timeout=30", "-s", file, target.url]
    const { stdout } = await promisify(execFile)("wrk", options, {
      timeout: (seconds + OVERTIME_S) * 1_000,
    }).catch(error => {
      throw error.code === "ENOENT" ? new Error("wrk is missing: install the package wrk") : error
    })
    const [requestsPerSecond = 0, p50Ms = 0, p99Ms = 0, failed = 0] = (/RESULT (.*)/.exec(stdout)?.[1] ?? "")
      .split(" ")
      .map(Number)
    if (failed > 0) throw new Error(`${failed} requests to ${target.url} failed`)
    return { requestsPerSecond, p50Ms, p99Ms }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
