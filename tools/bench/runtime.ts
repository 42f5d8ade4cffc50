/** What a workload costs, on each driver that works here: until its first command is done, a command, its memory. */
import { randomUUID } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import {
  openRuntime,
  type RuntimeDriver,
  runtimeDrivers,
} from "../../packages/server/src/ports/runtime/index.ts"
import type { Guest, RuntimePort, WorkloadSpec } from "../../packages/server/src/ports/runtime/port.ts"
import { attempt, type Figures, type Part, type Tell } from "./figures.ts"
import { residentMegabytes } from "./memory.ts"

const SEQUENTIAL = 30
/** After this time no more are started, for drivers that take theirs. */
const SEQUENTIAL_MS = 10_000
const BURST = 50
const COMMANDS = 200
/** Idle ones that are started, or as many as start in the time. */
const DENSITY = Number(process.env.BENCH_DENSITY ?? 100)
const DENSITY_MS = 60_000

const specOf = (kind: "memory" | "persistent"): WorkloadSpec => ({
  ...{ id: randomUUID(), hostname: "bench", root: { kind: "host" }, disk: { kind, bytes: 2 ** 28 } },
  ...{ vcpus: 2, memoryBytes: 2 ** 28, processesMax: 64, network: { mode: "none" }, mounts: [] },
})

const execute = async (guest: Guest): Promise<void> => {
  const command = await guest.exec({ argv: ["/bin/true"] })
  command.stdout.resume()
  command.stderr.resume()
  await command.exited
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const from = performance.now()
  await work()
  return performance.now() - from
}

const quantiles = (what: string, times: readonly number[]): Readonly<Record<string, number>> => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => Number((sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1))
  return { [`${what}, p50 ms`]: at(0.5), [`${what}, p99 ms`]: at(0.99) }
}

const startsOf = async (runtime: RuntimePort, kind: "memory" | "persistent") => {
  const one = async () => {
    const spec = specOf(kind)
    const ms = await timed(async () => execute(await runtime.start(spec)))
    await runtime.destroy(spec.id)
    return ms
  }
  await one()
  const sequential: number[] = []
  const until = performance.now() + SEQUENTIAL_MS
  while (sequential.length < SEQUENTIAL && performance.now() < until) sequential.push(await one())
  const specs = Array.from({ length: BURST }, () => specOf(kind))
  const burst = await Promise.all(specs.map(spec => timed(async () => execute(await runtime.start(spec)))))
  await Promise.all(specs.map(({ id }) => runtime.destroy(id)))
  const what = `start to first command done, ${kind} disk`
  return { ...quantiles(what, sequential), ...quantiles(`${what}, ${BURST} at once`, burst) }
}

/** Of the whole machine, so that what the kernel holds for them counts, and daemons that are no children of ours. */
const availableMegabytes = (): number => {
  const [, kilobytes = "0"] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8")) ?? []
  return Number(kilobytes) / 1024
}

/** What each of many idle ones takes, and how many would fit. Quiet machines tell it to some percent. */
const densityOf = async (runtime: RuntimePort) => {
  const before = [await residentMegabytes(process.pid), availableMegabytes()] as const
  const specs = Array.from({ length: DENSITY }, () => specOf("memory"))
  const until = performance.now() + DENSITY_MS
  let running = 0
  for (const spec of specs) {
    if (performance.now() > until) break
    await runtime.start(spec)
    running += 1
  }
  const own = ((await residentMegabytes(process.pid)) - before[0]) / running
  const whole = (before[1] - availableMegabytes()) / running
  await Promise.all(specs.map(({ id }) => runtime.destroy(id)))
  return {
    [`idle workload, MB of its processes, of ${running}`]: Number(own.toFixed(2)),
    "idle workload, MB of the machine": Number(whole.toFixed(2)),
    // Memory that the kernel frees meanwhile hides some of the latter.
    "idle workloads in 2 GB": Math.floor(2_048 / Math.max(own, whole)),
  }
}

const commandsOf = async (runtime: RuntimePort) => {
  const spec = specOf("memory")
  const guest = await runtime.start(spec)
  const commands: number[] = []
  for (let n = 0; n < COMMANDS; n++) commands.push(await timed(() => execute(guest)))
  await runtime.destroy(spec.id)
  return quantiles("command in a running workload", commands)
}

const figuresOn = async (demand: RuntimeDriver, tell: Tell): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-bench-runtime-"))
  const { SVC_DOCKER_HOST: dockerHost, SVC_QEMU_KERNEL: qemuKernel, SVC_RUNSC: runsc } = process.env
  try {
    await using runtime = await openRuntime({
      ...{ dataDir, demand, refusesWeak: false, qemuKernel, runsc },
      ...(dockerHost !== undefined && { dockerHost }),
      log: () => undefined,
    })
    if (runtime.capabilities.driver === "none")
      return tell({ [demand]: `not measured: ${runtime.capabilities.reasons.join("; ")}` })
    const named = (figures: Figures) =>
      tell(Object.fromEntries(Object.entries(figures).map(([what, value]) => [`${demand}: ${what}`, value])))
    await attempt(named, "command in a running workload", () => commandsOf(runtime))
    await attempt(named, "start, memory disk", () => startsOf(runtime, "memory"))
    await attempt(named, "start, persistent disk", () => startsOf(runtime, "persistent"))
    await attempt(named, "idle workload", () => densityOf(runtime))
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** `BENCH_RUNTIMES` names the drivers, between commas. */
export const runtimeFigures: Part = async tell => {
  const named = process.env.BENCH_RUNTIMES?.split(",")
  for (const driver of runtimeDrivers) if (named?.includes(driver) ?? true) await figuresOn(driver, tell)
}
