/** The port, over whatever engine: one conversation with each workload's agent, one call at a time about its life. */
import { createKeyedMutex } from "../../kernel/concurrency/keyed-mutex.ts"
import { PortError } from "../port-error.ts"
import type { Booted, Engine } from "./engine.ts"
import { createGuestClient, type GuestClient, type GuestUsage } from "./guest/client.ts"
import type { Guest, RuntimePort, WorkloadSpec } from "./port.ts"

interface Workload {
  readonly guest: Guest
  readonly booted: Booted
  readonly client: GuestClient
  isStopping: boolean
  isFrozen: boolean
  usage: GuestUsage
}

/** Until the agent has answered. */
const START_MS_MAX = 30_000
/** For an agent that should have ended all by itself. */
const STOP_MARGIN_MS = 1_000
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const hostnamePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

const unused: GuestUsage = { diskBytes: 0, cpuMs: 0, memoryBytes: 0, processes: 0 }

const within = async <Value>(promise: Promise<Value>, ms: number): Promise<Value | "late"> => {
  const { promise: late, resolve } = Promise.withResolvers<"late">()
  const timer = setTimeout(resolve, ms, "late")
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

const check = (engine: Engine, spec: WorkloadSpec): void => {
  const { capabilities } = engine
  const refuse = (reason: string) => {
    throw new PortError("refused", `${reason} (driver ${capabilities.driver})`)
  }
  if (!idPattern.test(spec.id)) refuse("a workload's id is a UUID")
  if (!hostnamePattern.test(spec.hostname)) refuse(`${spec.hostname} is not a host name`)
  if (!capabilities.roots.includes(spec.root.kind)) refuse(`there are no roots of kind ${spec.root.kind}`)
  if (spec.network.mode === "filtered" && capabilities.network !== "filtered") refuse("there is no network")
  if (spec.mounts.length > 0 && !capabilities.mounts) refuse("no directory of this machine can be mounted")
  if (spec.disk.kind === "persistent" && !capabilities.persistentDisks) refuse("no disk outlives a stop")
}

const missing = (id: string) => new PortError("missing", `no workload ${id} runs`)

export const createRuntime = (engine: Engine): RuntimePort => {
  const workloads = new Map<string, Workload>()
  /** Calls about one workload wait for each other. */
  const mutex = createKeyedMutex()
  let isClosed = false

  const boot = async (spec: WorkloadSpec): Promise<Guest> => {
    const booted = await engine.boot(spec)
    const client = createGuestClient(booted.stream)
    try {
      if ((await within(client.ready, engine.startMsMax ?? START_MS_MAX)) === "late")
        throw new PortError("unavailable", `workload ${spec.id} did not start in time`)
    } catch (error) {
      booted.kill()
      await booted.ended
      throw error
    }
    const ended = booted.ended.then(reason => {
      workloads.delete(spec.id)
      return workload.isStopping ? ("stopped" as const) : reason
    })
    const { exec, readFile, writeFile, connect } = client
    const guest: Guest = {
      ...{ id: spec.id, ended, exec, readFile, writeFile, connect },
      async freeze() {
        if (!engine.capabilities.freeze) throw new PortError("refused", "the driver cannot freeze")
        await booted.freeze()
        workload.isFrozen = true
      },
      async thaw() {
        await booted.thaw()
        workload.isFrozen = false
      },
    }
    const workload: Workload = { guest, booted, client, isStopping: false, isFrozen: false, usage: unused }
    workloads.set(spec.id, workload)
    return workload.guest
  }

  const stop = async (id: string, graceMs: number): Promise<void> => {
    const workload = workloads.get(id)
    if (!workload) return
    const { guest, booted, client } = workload
    workload.isStopping = true
    if (graceMs > 0) {
      if (workload.isFrozen) await guest.thaw()
      client.stop(graceMs)
      if ((await within(guest.ended, graceMs + STOP_MARGIN_MS)) !== "late") return
    }
    booted.kill()
    await guest.ended
  }

  const demandOpen = () => {
    if (isClosed) throw new PortError("unavailable", "the runtime is closed")
  }

  return {
    capabilities: engine.capabilities,
    health: () => engine.health(),
    async create(spec) {
      demandOpen()
      check(engine, spec)
      await mutex.run(spec.id, () => engine.prepare(spec))
    },
    async start(spec) {
      demandOpen()
      check(engine, spec)
      return mutex.run(spec.id, async () => {
        demandOpen()
        return workloads.get(spec.id)?.guest ?? (await boot(spec))
      })
    },
    running: id => {
      const workload = workloads.get(id)
      return workload && !workload.isStopping ? workload.guest : undefined
    },
    stop: (id, graceMs) => mutex.run(id, () => stop(id, graceMs)),
    destroy: id =>
      mutex.run(id, async () => {
        await stop(id, 0)
        await engine.erase(id)
      }),
    list: () => engine.list(),
    async stats(id) {
      const workload = workloads.get(id)
      if (!workload) throw missing(id)
      // Who is frozen does not answer, and uses what he used before.
      if (!workload.isFrozen) workload.usage = await workload.client.usage()
      const { usage } = workload
      const unknown = { memoryPeakBytes: usage.memoryBytes, outOfMemoryKills: 0, network: null }
      return { ...unknown, ...usage, ...(await workload.booted.stats()) }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await Promise.allSettled([...workloads.keys()].map(id => mutex.run(id, () => stop(id, 0))))
      await engine[Symbol.asyncDispose]()
    },
  }
}
