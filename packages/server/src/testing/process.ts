/** The platform as its operator starts it: `npm start` without npm, in a process of its own, with a folder of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { fileURLToPath } from "node:url"
import type { FirstRun } from "../core/first-run.ts"
import { postgresProcessesOf } from "../kernel/db/embedded/processes.ts"

export const MAIN = fileURLToPath(new URL("../../bin/start.js", import.meta.url))
/** It makes a database and tries what runs workloads: a machine that does much else takes more than a minute for it. */
const START_MS_MAX = 300_000

/** An ordinary user for tests that run as root. */
export const NOBODY = 65_534
export const isRoot = process.getuid?.() === 0

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface SvcProcess {
  readonly dataDir: string
  readonly pid: number
  /** What it has written so far. */
  stdout(): string
  stderr(): string
  readonly exited: Promise<Exit>
  /** The address it printed; rejects when it ends before. */
  readonly ready: Promise<string>
  signal(name: NodeJS.Signals): void
  /** SIGTERM, and how it ended. */
  stop(): Promise<Exit>
}

const removals = new WeakMap<TestContext, AsyncDisposableStack>()

/** Runs after the test, what came last first: a process ends before its folder goes. */
const atEnd = (t: TestContext, end: () => unknown) => {
  let stack = removals.get(t)
  if (!stack) {
    stack = new AsyncDisposableStack()
    removals.set(t, stack)
    t.after(stack.disposeAsync.bind(stack))
  }
  stack.defer(async () => void (await end()))
}

/** A data folder that is gone after the test, with whatever still runs on it. */
export const dataFolder = (t: TestContext, uid?: number): string => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "svc-process-"))
  chmodSync(folder, 0o711)
  if (uid !== undefined) chownSync(folder, uid, uid)
  atEnd(t, () => {
    killPostgres(folder)
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  return folder
}

/** The folders on which database servers may run: the platform's own, and those of tenants. */
const clustersOf = (dataDir: string): string[] => {
  const volumes = join(dataDir, "databases", "volumes")
  const ids = existsSync(volumes) ? readdirSync(volumes) : []
  return [join(dataDir, "postgres"), ...ids.map(id => join(realpathSync(volumes), id, "data"))]
}

/** As after a power cut: every process of every database is gone at once. */
export const killPostgres = (dataDir: string): void => {
  for (const pid of clustersOf(dataDir).flatMap(postgresProcessesOf)) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It ended with the one before.
    }
  }
}

export interface SpawnOptions {
  readonly dataDir?: string
  readonly env?: Readonly<Record<string, string>>
  /** Run as this user, with a folder of its own. */
  readonly uid?: number
  /** How it is started; by default as the program itself. */
  readonly command?: readonly [string, ...string[]]
}

const collect = (child: ChildProcess) => {
  const texts = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text
    })
  }
  return texts
}

/** The address in the banner. */
const untilReady = async (
  child: ChildProcess,
  texts: { readonly stdout: string; readonly stderr: string },
): Promise<string> => {
  const signal = AbortSignal.timeout(START_MS_MAX)
  for (;;) {
    const url = /ready at (\S+)\s/.exec(texts.stdout)?.[1]
    if (url !== undefined) return url
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(
        `it ended with ${child.exitCode ?? child.signalCode} before it was ready: ${texts.stderr}`,
      )
    }
    await Promise.race([
      child.stdout && once(child.stdout, "data", { signal }),
      once(child, "exit", { signal }),
    ]).catch(error => {
      throw new Error(`it was not ready in time: ${texts.stdout}${texts.stderr}`, { cause: error })
    })
  }
}

export const spawnSvc = (t: TestContext, { env = {}, uid, ...options }: SpawnOptions = {}): SvcProcess => {
  const dataDir = options.dataDir ?? dataFolder(t, uid)
  const [program, ...args] = options.command ?? [process.execPath, MAIN]
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: "/",
    ...(uid === undefined ? {} : { uid, gid: uid }),
    // Nothing of the test's own environment: its SVC_ variables are not settings.
    env: {
      PATH: process.env.PATH,
      SVC_DATA_DIR: dataDir,
      SVC_PORT: "0",
      SVC_RATE_LIMIT: "off",
      SVC_AUTH_RATE_LIMIT: "off",
      ...env,
    },
  })
  const texts = collect(child)
  // When its output is closed too, so that its last words are there.
  const exited = once(child, "close").then(([code, signal]): Exit => ({ code, signal }))
  const ready = untilReady(child, texts)
  ready.catch(() => undefined)
  const signal = (name: NodeJS.Signals) => void child.kill(name)
  atEnd(t, async () => {
    signal("SIGKILL")
    await exited
  })
  return {
    dataDir,
    pid: child.pid ?? 0,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    exited,
    ready,
    signal,
    stop() {
      signal("SIGTERM")
      return exited
    },
  }
}

export const readFirstRun = (dataDir: string): FirstRun =>
  JSON.parse(readFileSync(join(dataDir, "first-run.json"), "utf8"))
