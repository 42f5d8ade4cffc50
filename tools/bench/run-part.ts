/** Runs a part of the bench in a process group of its own, which ends when the part has had its time. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { type Figures, printFigures } from "./figures.ts"

/** Most take two minutes; all drivers of workloads, with a hundred idle ones on each, up to twenty. */
const LIMIT_S = { runtime: 1_800 } as Readonly<Record<string, number>>
const LIMIT_S_DEFAULT = 600
const CLEANING_MS_MAX = 15_000

const killGroup = (child: ChildProcess) => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
  } catch {
    // All of them have ended.
  }
}

let current: ChildProcess | undefined

/** First it is asked to end what it started. */
const endPart = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, "exit")
    child.kill("SIGTERM")
    const patience = setTimeout(() => killGroup(child), CLEANING_MS_MAX)
    await gone
    clearTimeout(patience)
  }
  killGroup(child)
}

export const endCurrentPart = async (): Promise<void> => {
  if (current) await endPart(current)
}

export interface Outcome {
  readonly figures: Figures
  /** It came to its end. */
  readonly isWhole: boolean
}

/** Runs a module that tells figures to its parent, until it ends or the limit is reached, and ends all that it started. */
export const runLimited = async (
  name: string,
  [module, ...given]: readonly [string, ...string[]],
  limit: AbortSignal,
): Promise<Outcome> => {
  const figures: Record<string, string | number> = {}
  const child = fork(module, given, { detached: true })
  current = child
  child.on("message", told => void Object.assign(figures, told))
  const cutOff = () => void endPart(child)
  limit.addEventListener("abort", cutOff, { once: true })
  await once(child, "close")
  // What it told last may still be on its way.
  if (child.connected) await once(child, "disconnect")
  limit.removeEventListener("abort", cutOff)
  current = undefined
  killGroup(child)
  if (limit.aborted) {
    const late = { [`${name}: not finished`]: "it had no more time" }
    printFigures(late)
    Object.assign(figures, late)
  }
  return { figures, isWhole: child.exitCode === 0 }
}

export const runPart = (name: string, dataDir: string, pid: number): Promise<Outcome> => {
  const limitS = Number(process.env.BENCH_PART_SECONDS ?? LIMIT_S[name] ?? LIMIT_S_DEFAULT)
  const module = fileURLToPath(new URL("part.ts", import.meta.url))
  return runLimited(name, [module, name, dataDir, String(pid)], AbortSignal.timeout(limitS * 1_000))
}
