/** Sandboxes and computers through the whole platform: until the first command is done, and a command in one that runs. */
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { createSvc, type Svc } from "@svc/sdk"
import { attempt, type Figures, type Part } from "./figures.ts"
import { apiKeyOf, PORT } from "./platform.ts"

const RUNS = Number(process.env.BENCH_SANDBOX_RUNS ?? 30)
const BURST = 50
const COMMANDS = 200
/** Longer than it takes to have the next one ready. */
const STAGGER_MS = 200

const quantiles = (times: readonly number[]): string => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`
}

interface First {
  readonly ms: number
  readonly warm: boolean
}

/** From the request to the answer of the first command. `memory_mb` is the shape: a new one finds none ready. */
const firstCommand = async ({ sandboxes }: Svc, memory_mb: number): Promise<First> => {
  const from = performance.now()
  const { id, cold_start } = await sandboxes.create({ memory_mb, vcpus: 0.5 })
  const { exit_code } = await sandboxes.runCommand({ id, command: "true" })
  const ms = performance.now() - from
  if (exit_code !== 0) throw new Error("a command failed")
  await sandboxes.delete({ id })
  return { ms, warm: cold_start === false }
}

const oneByOne = async (svc: Svc, shapeOf: (run: number) => number, restMs: number): Promise<First[]> => {
  const firsts: First[] = []
  for (let run = 0; run < RUNS; run++) {
    firsts.push(await firstCommand(svc, shapeOf(run)))
    await delay(restMs)
  }
  return firsts
}

/** Those that were ready, and those that were not, apart. */
const shown = (what: string, firsts: readonly First[]): Figures => {
  const figures: Record<string, string> = {}
  for (const [isReady, name] of [
    [true, "ready"],
    [false, "not ready"],
  ] as const) {
    const times = firsts.flatMap(({ warm, ms }) => (warm === isReady ? [ms] : []))
    if (times.length > 0) figures[`${what}, ${name}`] = `${quantiles(times)} (${times.length})`
  }
  return figures
}

/** All at once. Those that fail are told beside those that do not. */
const burst = async (svc: Svc, what: string): Promise<Figures> => {
  const outcomes = await Promise.allSettled(Array.from({ length: BURST }, () => firstCommand(svc, 256)))
  const firsts = outcomes.flatMap(outcome => (outcome.status === "fulfilled" ? [outcome.value] : []))
  const failures = outcomes.flatMap(outcome => (outcome.status === "rejected" ? [outcome.reason] : []))
  const failed = failures.length > 0 && {
    [`${what}, failed`]: `${failures.length}, the first: ${(failures[0] as Error).message}`,
  }
  return {
    ...shown(what, firsts),
    ...(firsts.length > 0 && { [what]: quantiles(firsts.map(({ ms }) => ms)) }),
    ...failed,
  }
}

const commandTimes = async (run: () => Promise<unknown>): Promise<string> => {
  const times: number[] = []
  for (let n = 0; n < COMMANDS; n++) {
    const from = performance.now()
    await run()
    times.push(performance.now() - from)
  }
  return quantiles(times.slice(COMMANDS / 10))
}

const commandFigures = async ({ sandboxes }: Svc): Promise<Figures> => {
  const { id, isolation } = await sandboxes.create({ memory_mb: 256, vcpus: 0.5 })
  try {
    return {
      isolation,
      "command `/bin/true`": await commandTimes(() => sandboxes.runCommand({ id, command: ["/bin/true"] })),
      "command for the shell": await commandTimes(() => sandboxes.runCommand({ id, command: "true" })),
    }
  } finally {
    await sandboxes.delete({ id })
  }
}

const computerFigures = async ({ computers }: Svc): Promise<Figures> => {
  const from = performance.now()
  const { id } = await computers.create({ name: "bench", memory_mb: 256 })
  await computers.exec({ id, command: "true" })
  const ms = Math.round(performance.now() - from)
  await computers.delete({ id })
  return { "computer: create to first command done, ms": ms }
}

/** On the driver that SVC_RUNTIME names. */
export const sandboxFigures: Part = async (tell, dataDir) => {
  const svc = createSvc({ apiKey: apiKeyOf(dataDir), baseUrl: `http://127.0.0.1:${PORT}` })
  const what = "create to first command done"
  const inTurn = (name: string, shapeOf: (run: number) => number, restMs: number) =>
    attempt(tell, name, async () => shown(name, await oneByOne(svc, shapeOf, restMs)))
  await attempt(tell, "commands", () => commandFigures(svc))
  await firstCommand(svc, 256)
  await delay(STAGGER_MS)
  await inTurn(`${what}, one every 200 ms`, () => 256, STAGGER_MS)
  await inTurn(`${what}, one after the other`, () => 256, 0)
  await inTurn(`${what}, each of a new shape`, run => 300 + run, 0)
  await attempt(tell, `${what}, ${BURST} at once`, () => burst(svc, `${what}, ${BURST} at once`))
  await attempt(tell, "computer", () => computerFigures(svc))
}
