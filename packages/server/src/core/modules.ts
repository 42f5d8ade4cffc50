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
import type { OpenDriver } from "./drivers.ts"
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

type Given = Readonly<Record<string, unknown>>

/** What a module needs beyond the services that wake it is nobody's business here. */
type AnyModule = AreaModule<Waking, Given, string>

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
  /**
   * Resolves when all areas that had work as the platform started are loaded, and those that are being loaded now; with
   * false where one of them could not be, or the platform stops before.
   */
  settled(): Promise<boolean>
  /** Names of those that are loaded. */
  loaded(): readonly string[]
}

const pick = <All extends object>(all: All, keys: readonly string[]): All & Given =>
  Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key))) as All & Given

/** One area: not loaded, being loaded, or running. */
const createHolder = (
  module: AnyModule,
  services: Waking,
  openDriver: OpenDriver<Given>,
  started: (area: RunningArea) => void,
) => {
  const atHand = pick(services, module.needs)
  const drivers = module.needs.filter(name => !Object.hasOwn(services, name))
  /** All that it needs. */
  const gather = async () => {
    const opened = drivers.map(async name => [name, await openDriver(name)] as const)
    return { ...atHand, ...Object.fromEntries(await Promise.all(opened)) }
  }
  let loading: Promise<void> | undefined
  let running: RunningArea | undefined
  let bound: ReadonlyMap<string, BoundOperation> = new Map()
  let isClosed = false

  const begin = async () => {
    if (isClosed) throw fault("service_unavailable", { reason: "the platform stops" })
    const [{ start }, given] = await Promise.all([module.load(), gather()])
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
    atHand,
    edge: module.edge?.(atHand),
    load,
    gate: () => running?.gate,
    isLoaded: () => running !== undefined,
    loading: () => loading,
    /** Nothing is loaded from now on; resolves when what was being loaded is. */
    async close() {
      isClosed = true
      await loading?.catch(() => undefined)
    },
    operations: module.contract.flatMap(({ operations }) =>
      Object.values(operations).map(operation => bindLater(operation, load, () => bound.get(operation.name))),
    ),
    async state(): Promise<AreaState> {
      const state = running?.state ? running.state() : module.state?.(await gather())
      return (await state) ?? { status: "available" }
    },
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
        log.error({ err: error, area: owner.module.name }, "loading an area failed")
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

export const openModules = <Services extends Waking, Drivers extends object>(
  modules: readonly AreaModule<Services, Drivers>[],
  services: Services,
  openDriver: OpenDriver<Drivers>,
  deferJobs: RunningJobs["defer"],
): Modules => {
  const { database, clock, log } = services
  const opened = new AsyncDisposableStack()
  const resumed = Promise.withResolvers<boolean>()
  const known = modules as unknown as readonly AnyModule[]
  const holders = known.map(module =>
    createHolder(module, services, openDriver as unknown as OpenDriver<Given>, area => {
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
      log.error({ err: error, area: module.name }, "reading the state of an area failed")
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
      for (const { module, atHand, load } of holders) if (module.wakes?.atStart?.(atHand)) await load()
    },
    async resume() {
      await look()
      resumed.resolve(true)
      opened.use(
        clock.every(LOOK_EVERY_MS, () =>
          look().catch(error =>
            log.error({ err: error }, "polling for background work of areas failed; will retry"),
          ),
        ),
      )
    },
    async settled() {
      if (!(await resumed.promise)) return false
      const loads = await Promise.allSettled(holders.map(({ loading }) => loading()))
      return loads.every(({ status }) => status === "fulfilled")
    },
    loaded: () => holders.filter(({ isLoaded }) => isLoaded()).map(({ module }) => module.name),
    async [Symbol.asyncDispose]() {
      resumed.resolve(false)
      await Promise.all(holders.map(({ close }) => close()))
      await opened.disposeAsync()
    },
  }
}
