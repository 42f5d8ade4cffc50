/** Sandboxes and computers through the whole platform: until the first command is done, and a command in one that runs. */
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { createSvc, type Svc } from "@svc/sdk"
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

const shown = (firsts: readonly First[]): string => {
  const hits = firsts.filter(({ warm }) => warm).length
  return `${quantiles(firsts.map(({ ms }) => ms))} (${hits} of ${firsts.length} were ready)`
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

export const sandboxFigures = async (dataDir: string): Promise<Record<string, string | number>> => {
  const svc = createSvc({ apiKey: apiKeyOf(dataDir), baseUrl: `http://127.0.0.1:${PORT}` })
  const what = "create to first command done"
  const figures: Record<string, string | number> = {}
  await firstCommand(svc, 256)
  await delay(STAGGER_MS)
  figures[`${what}, one every 200 ms`] = shown(await oneByOne(svc, () => 256, STAGGER_MS))
  figures[`${what}, one after the other`] = shown(await oneByOne(svc, () => 256, 0))
  figures[`${what}, none ready`] = shown(await oneByOne(svc, run => 300 + run, 0))
  figures[`${what}, ${BURST} at once`] = shown(
    await Promise.all(Array.from({ length: BURST }, () => firstCommand(svc, 256))),
  )

  const { id } = await svc.sandboxes.create({ memory_mb: 256, vcpus: 0.5 })
  figures["command `/bin/true`"] = await commandTimes(() =>
    svc.sandboxes.runCommand({ id, command: ["/bin/true"] }),
  )
  figures["command for the shell"] = await commandTimes(() =>
    svc.sandboxes.runCommand({ id, command: "true" }),
  )
  await svc.sandboxes.delete({ id })

  const from = performance.now()
  const computer = await svc.computers.create({ name: "bench", memory_mb: 256 })
  await svc.computers.exec({ id: computer.id, command: "true" })
  figures["computer: create to first command done, ms"] = Math.round(performance.now() - from)
  await svc.computers.delete({ id: computer.id })
  return figures
}
