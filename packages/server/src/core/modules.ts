/** The areas: each is loaded when something needs it, and knows nothing of the others. */
import type { IncomingMessage } from "node:http"
import { sql } from "kysely"
import type { AreaModule, AreaState, RunningArea } from "../kernel/area.ts"
import type { Clock } from "../kernel/clock.ts"
import type { Database } from "../kernel/db/database.ts"
import type { HostGate } from "../kernel/edges/host-gate.ts"
import type { Reroute } from "../kernel/edges/http.ts"
import type { RenderErrors } from "../kernel/edges/reply.ts"
import { fault } from "../kernel/fault.ts"
import { type BoundOperation, bindLater } from "../kernel/implement.ts"
import type { RunningJobs } from "../kernel/jobs/open.ts"
import type { Logger } from "../kernel/log.ts"
import type { Offer } from "../kernel/offer.ts"
import type { PlatformEvents } from "./platform-events/platform-events.ts"
import type { ScheduleTargets } from "./schedule-targets.ts"

/** Work that another process left is found this late. One statement for all areas that are not loaded. */
const LOOK_EVERY_MS = 60_000

/** The services by which areas are woken. */
interface Waking {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly platformEvents: PlatformEvents
  readonly scheduleTargets: ScheduleTargets
}

export interface Modules extends AsyncDisposable {
  readonly operations: readonly BoundOperation[]
  /** What the areas add to the edge. */
  readonly edge: { readonly gate: HostGate; readonly reroute: Reroute; readonly renderErrors: RenderErrors }
  /** How each area is, loaded or not. */
  states(): Promise<({ readonly name: string; readonly title: string } & AreaState)[]>
  /** Loads what must be there before the platform is ready. */
  start(): Promise<void>
  /** Loads areas with work that goes on by itself, now and whenever there is some. Resolves after the first look. */
  resume(): Promise<void>
  /** Names of those that are loaded. */
  loaded(): readonly string[]
}

const pick = <All extends object, Key extends keyof All>(all: All, keys: readonly Key[]): Pick<All, Key> =>
  Object.fromEntries(keys.map(key => [key, all[key]])) as unknown as Pick<All, Key>

/** One area: not loaded, being loaded, or running. */
const createHolder = (module: AreaModule<Waking>, services: Waking, started: (area: RunningArea) => void) => {
  const given = pick(services, module.needs)
  let loading: Promise<void> | undefined
  let running: RunningArea | undefined
  let bound: ReadonlyMap<string, BoundOperation> = new Map()
  let isClosed = false

  const begin = async () => {
    if (isClosed) throw fault("service_unavailable", { reason: "the platform stops" })
    const { start } = await module.load()
    const area = await start(given)
    bound = new Map(area.operations.map(each => [each.operation.name, each]))
    running = area
    started(area)
  }
  /** One that failed is tried again by whoever needs it next. */
  const load = (): Promise<void> => {
    loading ??= begin().catch(error => {
      loading = undefined
      throw error
    })
    return loading
  }
  return {
    module,
    given,
    edge: module.edge?.(given),
    load,
    gate: () => running?.gate,
    isLoaded: () => running !== undefined,
    /** Nothing is loaded from now on; resolves when what was being loaded is. */
    async close() {
      isClosed = true
      await loading?.catch(() => undefined)
    },
    operations: module.contract.flatMap(({ operations }) =>
      Object.values(operations).map(operation => bindLater(operation, load, () => bound.get(operation.name))),
    ),
    state: async (): Promise<AreaState> =>
      (await (running?.state?.() ?? module.state?.(given))) ?? { status: "available" },
  }
}

type Holder = ReturnType<typeof createHolder>

/** Has everything that may need the area load it. */
const defer = ({ module, load, isLoaded }: Holder, services: Waking, defer: RunningJobs["defer"]): void => {
  const { wakes, provides = [] } = module
  if (wakes?.queues) defer(wakes.queues, load)
  for (const type of wakes?.scheduleTargets ?? []) services.scheduleTargets.provideAfter(type, load)
  for (const name of provides) (services[name] as unknown as Offer<unknown>).provideAfter(load)
  if (wakes?.platformEvents) {
    services.platformEvents.listen({
      // Whoever is loaded listens for itself.
      wants: () => (isLoaded() ? false : undefined),
      receive: load,
    })
  }
}

/** Hands requests for hosts that an area claims to it, once it is loaded. */
const createGate = (holders: readonly Holder[], log: Logger): HostGate => {
  const ownerOf = (request: IncomingMessage) => holders.find(({ edge }) => edge?.claims?.(request))
  const withGate = (request: IncomingMessage, act: (gate: HostGate) => void, giveUp: () => void) => {
    const owner = ownerOf(request)
    if (!owner) return giveUp()
    const loaded = owner.gate()
    if (loaded) return act(loaded)
    owner.load().then(
      () => {
        const gate = owner.gate()
        if (gate) act(gate)
        else giveUp()
      },
      error => {
        log.error({ err: error, area: owner.module.name }, "an area is not loaded")
        giveUp()
      },
    )
  }
  return {
    claims: request => ownerOf(request) !== undefined,
    serve: (request, response, address) =>
      withGate(
        request,
        gate => gate.serve(request, response, address),
        () => void response.destroy(),
      ),
    upgrade: (request, socket, head, address) =>
      withGate(
        request,
        gate => gate.upgrade(request, socket, head, address),
        () => void socket.destroy(),
      ),
  }
}

/** The areas, of those that are not loaded, that have a row in a table of work. */
const findWork = async ({ db }: Database, holders: readonly Holder[]): Promise<ReadonlySet<string>> => {
  const questions = holders.flatMap(({ module: { name, wakes } }) =>
    (wakes?.rowsIn ?? []).map(
      table => sql`SELECT ${name}::text AS area WHERE EXISTS (SELECT FROM ${sql.table(table)})`,
    ),
  )
  if (questions.length === 0) return new Set()
  const { rows } = await sql<{ area: string }>`${sql.join(questions, sql` UNION ALL `)}`.execute(db)
  return new Set(rows.map(({ area }) => area))
}

export const openModules = <Services extends Waking>(
  modules: readonly AreaModule<Services>[],
  services: Services,
  deferJobs: RunningJobs["defer"],
): Modules => {
  const { database, clock, log } = services
  const opened = new AsyncDisposableStack()
  // What a module needs beyond the services that wake it is nobody's business here.
  const known = modules as unknown as readonly AreaModule<Waking>[]
  const holders = known.map(module =>
    createHolder(module, services, area => {
      if (area[Symbol.asyncDispose]) opened.use(area as RunningArea & AsyncDisposable)
    }),
  )
  for (const holder of holders) defer(holder, services, deferJobs)
  const edges = holders.flatMap(({ edge }) => edge ?? [])

  const look = async () => {
    const idle = holders.filter(holder => !holder.isLoaded())
    const busy = await findWork(database, idle)
    const loads = idle.filter(({ module }) => busy.has(module.name)).map(({ load }) => load())
    for (const load of await Promise.allSettled(loads)) if (load.status === "rejected") throw load.reason
  }
  const stateOf = async ({ module, state }: Holder): Promise<AreaState> => {
    try {
      return await state()
    } catch (error) {
      log.error({ err: error, area: module.name }, "an area cannot tell its state")
      return { status: "degraded", reason: "it cannot tell its state" }
    }
  }

  return {
    operations: holders.flatMap(({ operations }) => operations),
    edge: {
      renderErrors: Object.assign({}, ...edges.map(({ renderErrors }) => renderErrors)),
      reroute(request) {
        for (const { reroute } of edges) {
          const target = reroute?.(request)
          if (target !== undefined) return target
        }
        return undefined
      },
      gate: createGate(holders, log),
    },
    states: () =>
      Promise.all(
        holders.map(async holder => {
          const { name, title } = holder.module
          return { name, title, ...(await stateOf(holder)) }
        }),
      ),
    async start() {
      for (const { module, given, load } of holders) if (module.wakes?.atStart?.(given)) await load()
    },
    async resume() {
      await look()
      opened.use(
        clock.every(LOOK_EVERY_MS, () =>
          look().catch(error => log.error({ err: error }, "a look for work of areas has failed")),
        ),
      )
    },
    loaded: () => holders.filter(({ isLoaded }) => isLoaded()).map(({ module }) => module.name),
    async [Symbol.asyncDispose]() {
      await Promise.all(holders.map(({ close }) => close()))
      await opened.disposeAsync()
    },
  }
}
