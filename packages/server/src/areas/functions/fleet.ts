import type { Clock } from "../../kernel/clock.ts"
import { every } from "../../kernel/every.ts"
import { fault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import { ImageError, ImagesStoppedError } from "../../services/images/image-error.ts"
import type { CodeFolders } from "../../services/serving/code-folders.ts"
import { crash } from "../../services/serving/workload.ts"
import { startContainer } from "./container.ts"
import { createGroup, type Group, isIdle } from "./group.ts"
import type { Harness } from "./harness.ts"
import { type Instance, LoadError, loadInstance } from "./instance.ts"
import type { PrintedLine } from "./printing.ts"
import type { Starter } from "./starter.ts"
import type { FunctionSpec, Outcome, Work } from "./work.ts"

export interface Fleet extends AsyncDisposable {
  /**
   * Runs it on an instance of this version, or a newer one. Throws `function_throttled`, `no_host_capacity` and
   * `service_unavailable`; whatever the function does is an outcome.
   */
  invoke(spec: FunctionSpec, work: Work): Promise<Outcome>
  /** Has so many instances at least, and keeps them until the next call leaves the function out. */
  keep(wanted: readonly { readonly spec: FunctionSpec; readonly instances: number }[]): void
  /** The function has changed or is gone: what runs its old code ends with what it does. */
  forget(functionId: string): void
  /** Gives up the place of what waits without work; false when everything works. */
  giveUp(): boolean
  counts(): { readonly instances: number; readonly resting: number; readonly queued: number }
}

/** How long an instance stays without work. */
export const IDLE_MS_MAX = 120_000
/** After which its processes are stopped until the next call, so that it costs memory only. */
export const REST_AFTER_MS = 5_000
const SWEEP_EVERY_MS = 1_000

export interface FleetNeeds {
  readonly starter: Starter
  readonly folders: CodeFolders
  readonly clock: Clock
  readonly log: Logger
  readonly print: (spec: FunctionSpec, line: PrintedLine) => void
  /** Hears whether the code could be loaded. */
  readonly loaded: (spec: FunctionSpec, problem: string | null) => void
}

const startProcess = async (
  { starter, folders }: FleetNeeds,
  spec: FunctionSpec,
  isSpare: boolean,
  env: Readonly<Record<string, string>>,
): Promise<Harness> => {
  if (spec.openImage) {
    const image = await spec.openImage().catch(error => {
      if (error instanceof ImagesStoppedError)
        throw fault("service_unavailable", { reason: "the server is shutting down" })
      if (!(error instanceof ImageError)) throw error
      throw new LoadError({ type: "InitError", message: error.message, stack: null }, 0)
    })
    return starter.startOwn(needs => startContainer(needs, { ...spec, isSpare }, image, env))
  }
  const harness = await starter.start(spec, isSpare)
  try {
    if (harness.folder !== undefined) await folders.fill(harness.folder, spec.codeSha256, spec.readCode)
    return harness
  } catch (error) {
    harness.end(crash("its code could not be loaded"))
    throw error
  }
}

const startInstance = async (needs: FleetNeeds, spec: FunctionSpec, isSpare: boolean): Promise<Instance> => {
  try {
    const env = await spec.openEnv()
    const harness = await startProcess(needs, spec, isSpare, env)
    const instance = await loadInstance(harness, {
      ...{ handler: spec.handler, env, concurrency: spec.concurrency, vcpus: spec.vcpus },
      print: line => needs.print(spec, line),
      nowMs: needs.clock.now,
    })
    needs.loaded(spec, null)
    return instance
  } catch (error) {
    if (error instanceof LoadError) needs.loaded(spec, `${error.error.type}: ${error.error.message}`)
    throw error
  }
}

export const createFleet = (needs: FleetNeeds): Fleet => {
  const { starter, clock, log } = needs
  const groups = new Map<string, Group>()

  const groupOf = (spec: FunctionSpec): Group => {
    const known = groups.get(spec.functionId)
    if (known && known.spec.version >= spec.version) return known
    known?.retire()
    const group = createGroup(spec, isSpare => startInstance(needs, spec, isSpare), log)
    groups.set(spec.functionId, group)
    return group
  }

  const ticking = every(clock, SWEEP_EVERY_MS, () => {
    starter.sweep()
    for (const [id, group] of groups) {
      group.sweep(clock.now() - IDLE_MS_MAX)
      group.rest(clock.now() - REST_AFTER_MS)
      if (group.isEmpty) groups.delete(id)
    }
  })

  return {
    invoke: (spec, work) => groupOf(spec).invoke(work),

    keep(wanted) {
      const named = new Set(wanted.map(({ spec }) => spec.functionId))
      for (const [id, group] of groups) if (!named.has(id)) group.keep(0)
      for (const { spec, instances } of wanted) groupOf(spec).keep(instances)
    },

    forget(functionId) {
      groups.get(functionId)?.retire()
      groups.delete(functionId)
    },

    giveUp() {
      if (starter.giveUp()) return true
      const idle = [...groups.values()].flatMap(({ instances }) => [...instances]).filter(isIdle)
      const [idlest] = idle.sort((a, b) => a.idleSinceMs - b.idleSinceMs)
      idlest?.giveUp()
      return idlest !== undefined
    },

    counts() {
      const all = [...groups.values()]
      return {
        instances: all.reduce((sum, { instances }) => sum + instances.size, 0),
        resting: all.flatMap(({ instances }) => [...instances]).filter(one => one.isResting).length,
        queued: all.reduce((sum, { queued }) => sum + queued, 0),
      }
    },

    async [Symbol.asyncDispose]() {
      ticking[Symbol.dispose]()
      for (const group of groups.values())
        group.refuse(fault("service_unavailable", { reason: "the server is shutting down" }))
      groups.clear()
      await starter[Symbol.asyncDispose]()
    },
  }
}
