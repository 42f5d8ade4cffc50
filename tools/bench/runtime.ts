/** What a workload costs, on the driver that works here: until its first command is done, a command, its memory. */
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { openRuntime } from "../../packages/server/src/ports/runtime/index.ts"
import type { Guest, RuntimePort, WorkloadSpec } from "../../packages/server/src/ports/runtime/port.ts"
import { residentMegabytes } from "./memory.ts"

const SEQUENTIAL = 30
const BURST = 20
const COMMANDS = 200

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
  for (let n = 0; n < SEQUENTIAL; n++) sequential.push(await one())
  const specs = Array.from({ length: BURST }, () => specOf(kind))
  const burst = await Promise.all(specs.map(spec => timed(async () => execute(await runtime.start(spec)))))
  await Promise.all(specs.map(({ id }) => runtime.destroy(id)))
  const what = `start to first command done, ${kind} disk`
  return { ...quantiles(what, sequential), ...quantiles(`${what}, ${BURST} at once`, burst) }
}

export const runtimeFigures = async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-bench-runtime-"))
  try {
    await using runtime = await openRuntime({
      ...{ dataDir, demand: "auto", refusesWeak: false },
      log: () => undefined,
    })
    const starts = { ...(await startsOf(runtime, "memory")), ...(await startsOf(runtime, "persistent")) }
    const guest = await runtime.start(specOf("memory"))
    const commands: number[] = []
    for (let n = 0; n < COMMANDS; n++) commands.push(await timed(() => execute(guest)))
    const before = await residentMegabytes(process.pid)
    const more = Array.from({ length: BURST }, () => specOf("memory"))
    await Promise.all(more.map(one => runtime.start(one)))
    const idle = ((await residentMegabytes(process.pid)) - before) / BURST
    return {
      "workload driver": runtime.capabilities.driver,
      ...starts,
      ...quantiles("command in a running workload", commands),
      "idle workload, MB": Number(idle.toFixed(2)),
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
