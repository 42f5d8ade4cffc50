import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { TestContext } from "node:test"
import { fileURLToPath } from "node:url"
import { atEnd } from "./directories.ts"

export interface Started {
  readonly connectionString: string
  readonly socketDir: string
  readonly pid: number
  readonly startedMs: number
}

export interface Refused {
  readonly refused: string
  readonly hint: string
}

const STARTER = fileURLToPath(import.meta.resolve("./starter.ts"))

/** Runs starter.ts on a data directory; it is stopped in order after the test if it still lives. */
export const spawnStarter = (
  t: TestContext,
  args: { dataDir: string; systemDir?: string; durable?: boolean },
  options: SpawnOptions = {},
): ChildProcess => {
  const { dataDir, systemDir = "", durable = false } = args
  const child = spawn(process.execPath, [STARTER, dataDir, systemDir, durable ? "durable" : ""], {
    ...options,
    stdio: ["pipe", "pipe", "ignore"],
  })
  atEnd(t, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, "exit")
    child.stdin?.end()
    await exited
  })
  return child
}

/** The one line in which the starter says how it went. */
export const outcomeOf = async (child: ChildProcess): Promise<Started | Refused> => {
  if (child.stdout === null) throw new Error("the starter's output is not piped")
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line)
  throw new Error("the starter ended without a word")
}

export const started = async (child: ChildProcess): Promise<Started> => {
  const outcome = await outcomeOf(child)
  if ("refused" in outcome) throw new Error(`refused: ${outcome.refused}`)
  return outcome
}

export const refusal = async (child: ChildProcess): Promise<Refused> => {
  const outcome = await outcomeOf(child)
  if ("refused" in outcome) return outcome
  throw new Error(`started on ${outcome.socketDir}, though it should have been refused`)
}

/** As after `kill -9` of Node: nothing of it runs on, no handler has run. */
export const killHard = async (child: ChildProcess): Promise<void> => {
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
}
