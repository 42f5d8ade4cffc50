/** The areas: each is loaded when something needs it, and knows nothing of the others. */

import type { IncomingMessage } from "node:http"
import { sql } from "kysely"
import type { AreaModule, AreaState, EdgeAddition, PortListener, RunningArea } from "../kernel/area.ts"
import type { Clock } from "../kernel/clock.ts"
import type { Database } from "../kernel/db/database.ts"
import type { HostGate } from "../kernel/edges/host-gate.ts"
import type { Reroute } from "../kernel/edges/http.ts"
import type { RenderErrors } from "../kernel/edges/reply.ts"
import { every } from "../kernel/every.ts"
import { fault } from "../kernel/fault.ts"
import { type BoundOperation, bindLater } from "../kernel/implement.ts"
import type { RunningJobs } from "../kernel/jobs/open.ts"
import type { Logger } from "../kernel/log.ts"
import type { Settings, ValuesOf } from "../kernel/setting.ts"
import { errorCode, StartupError } from "../kernel/startup-error.ts"
import { openTcpListener, type TcpListener } from "../kernel/tcp-listener.ts"
import type { PlatformEvents } from "./platform-events/platform-events.ts"
import type { ScheduleTargets } from "./schedule-targets.ts"
import type { Services } from "./services.ts"

/** Work that another process left is found this late. One statement for all areas that are not loaded. */
const LOOK_EVERY_MS = 60_000

export interface ModulesNeeds {
  readonly services: Services
  readonly settingsOf: (declared: Settings) => ValuesOf<Settings>
  readonly deferJobs: RunningJobs["defer"]
  /** By which areas are woken. */
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
  /** Opens the ports of areas, and loads what must be there before the platform is ready. */
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

/** What an area says that it provides must be there once it is loaded, for others wait for it. */
const provideAll = ({ name, provides = [] }: AreaModule, area: RunningArea, services: Services): void => {
  const given = new Map(area.provides?.map(({ token, service }) => [token.name, service]))
  for (const token of provides) {
    if (!given.has(token.name)) throw new Error(`${name} does not provide ${token.name}`)
    services.offer(token).provide(given.get(token.name))
  }
}

/** One area: not loaded, being loaded, or running. */
const createHolder = (
  module: AreaModule,
  { services, settingsOf }: ModulesNeeds,
  started: (area: RunningArea) => void,
) => {
  const values = { settings: settingsOf(module.settings ?? {}) }
  const ports: Record<string, number | undefined> = {}
  const gather = async () => ({ ...(await services.gather(module.needs)), ...values, ports })
  let loading: Promise<void> | undefined
  let running: RunningArea | undefined
  let bound: ReadonlyMap<string, BoundOperation> = new Map()
  let isClosed = false

  const begin = async () => {
    if (isClosed) throw fault("service_unavailable", { reason: "the server is shutting down" })
    const [{ start }, given] = await Promise.all([module.load(), gather()])
    const area = await start(given)
    bound = new Map(area.operations.map(each => [each.operation.name, each]))
    running = area
    provideAll(module, area, services)
    started(area)
  }
  /** A failed load is retried by the next caller. */
  const load = (): Promise<void> => {
    loading ??= begin().catch(error => {
      loading = undefined
      throw error
    })
    return loading
  }
  return {
    module,
    /** What it can be given before it is loaded. */
    atHand: () => ({ ...services.atHand(module.needs), ...values }),
    ports,
    load,
    running: () => running,
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
const defer = ({ module, load, isLoaded }: Holder, needs: ModulesNeeds): void => {
  const { services, platformEvents, scheduleTargets, deferJobs } = needs
  const { wakes, provides = [] } = module
  if (wakes?.queues) deferJobs(wakes.queues, load)
  for (const type of wakes?.scheduleTargets ?? []) scheduleTargets.provideAfter(type, load)
  for (const token of provides) services.offer(token).provideAfter(load)
  if (wakes?.platformEvents) {
    platformEvents.listen({
      // A loaded area has listeners of its own.
      wants: () => (isLoaded() ? false : undefined),
      receive: load,
    })
  }
}

const openPort = async (
  name: string,
  { speaks, setting, pausesSockets, address }: PortListener<never>,
  holder: Holder,
  log: Logger,
): Promise<TcpListener | undefined> => {
  const at = address(holder.atHand() as never)
  if (!at) return undefined
  const server = async () => {
    await holder.load()
    return holder.running()?.serves?.[name]
  }
  try {
    return await openTcpListener({ host: at.host, port: at.port, pausesSockets, server, log })
  } catch (error) {
    if (errorCode(error) !== "EADDRINUSE") throw error
    throw new StartupError(
      `Svc cannot listen on ${at.host}:${at.port} for ${speaks}: something else does.`,
      `Stop what listens there, or choose another port through ${setting}.`,
      { cause: error },
    )
  }
}

/** Opens the ports of areas, which are loaded for the first who comes. */
const openPorts = async (holders: readonly Holder[], opened: AsyncDisposableStack, log: Logger) => {
  for (const holder of holders) {
    for (const [name, declared] of Object.entries(holder.module.listeners ?? {})) {
      const listener = await openPort(name, declared as PortListener<never>, holder, log)
      if (listener) holder.ports[name] = opened.use(listener).port
    }
  }
}

/** Hands requests for hosts that an area claims to it, once it is loaded. */
const createGate = (
  edges: readonly { readonly holder: Holder; readonly edge: EdgeAddition }[],
  log: Logger,
): HostGate => {
  const asking = edges.filter(({ edge }) => edge.asksGate).map(({ holder }) => holder)
  const ownerOf = (request: IncomingMessage) =>
    edges.find(({ edge }) => edge.claims?.(request))?.holder ??
    asking.find(holder => holder.running()?.gate?.claims(request))
  const withGate = (request: IncomingMessage, act: (gate: HostGate) => void, giveUp: () => void) => {
    const owner = ownerOf(request)
    if (!owner) return giveUp()
    const loaded = owner.running()?.gate
    if (loaded) return act(loaded)
    owner.load().then(
      () => {
        const gate = owner.running()?.gate
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

export const openModules = (modules: readonly AreaModule[], needs: ModulesNeeds): Modules => {
  const { database, clock, log } = needs
  const opened = new AsyncDisposableStack()
  const listening = new AsyncDisposableStack()
  const resumed = Promise.withResolvers<boolean>()
  const holders = modules.map(module =>
    createHolder(module, needs, area => {
      if (area[Symbol.asyncDispose]) opened.use(area as RunningArea & AsyncDisposable)
    }),
  )
  for (const holder of holders) defer(holder, needs)
  const edges = holders.flatMap(holder => {
    const edge = holder.module.edge?.(holder.atHand())
    return edge ? [{ holder, edge }] : []
  })

  const reroutes = edges
    .map(({ edge }) => edge)
    .sort((a, b) => Number(b.routesByHost ?? false) - Number(a.routesByHost ?? false))

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
      return { status: "degraded", reason: "its state is not known" }
    }
  }

  return {
    operations: holders.flatMap(({ operations }) => operations),
    edge: {
      renderErrors: Object.assign({}, ...edges.map(({ edge }) => edge.renderErrors)),
      reroute(request) {
        for (const { reroute } of reroutes) {
          const target = reroute?.(request)
          if (target !== undefined) return target
        }
        return undefined
      },
      gate: createGate(edges, log),
    },
    states: () =>
      Promise.all(
        holders.map(async holder => {
          const { name, title } = holder.module
          return { name, title, ...(await stateOf(holder)) }
        }),
      ),
    async start() {
      await openPorts(holders, listening, log)
      for (const { module, atHand, load } of holders) if (module.wakes?.atStart?.(atHand())) await load()
    },
    async resume() {
      await look()
      resumed.resolve(true)
      opened.use(
        every(clock, LOOK_EVERY_MS, look, {
          log,
          failure: "polling for background work of areas failed; will retry",
        }),
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
      await listening.disposeAsync()
      await Promise.all(holders.map(({ close }) => close()))
      await opened.disposeAsync()
    },
  }
}
