import type { IncomingMessage } from "node:http"
import type { Area, CronTargetType } from "@svc/contract"
import type { MigrationSource } from "./db/migrate.ts"
import type { HostGate } from "./edges/host-gate.ts"
import type { Reroute } from "./edges/http.ts"
import type { RenderErrors } from "./edges/reply.ts"
import type { BoundOperation } from "./implement.ts"
import type { PersonalDataSource } from "./personal-data.ts"
import type { Settings, ValuesOf } from "./setting.ts"
import type { Accept } from "./tcp-listener.ts"
import type { AtHand, Needs, OfferToken, Provided, ServicesOf } from "./token.ts"

export interface AreaState {
  readonly status: "available" | "degraded" | "not_configured"
  /** Why it is not available, in a sentence. */
  readonly reason?: string
  /** The setting that enables what is missing. */
  readonly setting?: string
  readonly capabilities?: Readonly<Record<string, unknown>>
}

/** An area that is loaded. */
export interface RunningArea<Ports extends string = string> extends Partial<AsyncDisposable> {
  readonly operations: readonly BoundOperation[]
  /** What its module says that it provides. */
  readonly provides?: readonly Provided[]
  /** Who serves the connections to its ports. */
  readonly serves?: Readonly<Record<Ports, Accept | undefined>>
  /** Answers requests for the host names that its module claims. */
  readonly gate?: HostGate | undefined
  /** How it is now, where it knows more than its module. Asked for the status page, so it may look, but not for long. */
  state?(): AreaState | Promise<AreaState>
}

/** Background work that loads an area without a call. */
export interface Wakes<AtStart> {
  /** Why it is loaded before the platform is ready; undefined where that is not necessary. */
  atStart?(given: AtStart): string | undefined
  /** Tables of work that goes on by itself: the area is loaded where one of them has a row, within a minute. */
  readonly rowsIn?: readonly string[]
  /** Its queues and schedules, all of them: it is loaded when a job is due. */
  readonly queues?: readonly string[]
  /** It listens to the events of the platform: it is loaded at the first. */
  readonly platformEvents?: true
  /** What it can do for schedules: it is loaded when one of them names it. */
  readonly scheduleTargets?: readonly CronTargetType[]
}

/** A table whose rows name files of the blob port: none of them is removed as an orphan. */
export interface BlobKeeper {
  readonly table: string
  /** Its columns with the owner, a uuid, and the address. One index should have both, or the owner alone. */
  readonly owner: string
  readonly address: string
}

/** A TCP port of an area. It listens from the start; the area is loaded by the first connection. */
export interface PortListener<AtStart> {
  /** What is spoken there, for messages. */
  readonly speaks: string
  /** The variable that chooses the port. */
  readonly setting: string
  /** Whether who serves hands its sockets to another process. */
  readonly pausesSockets?: boolean
  /** Where it listens; port 0 is any that is free. Undefined where it does not. */
  address(given: AtStart): { readonly host: string; readonly port: number } | undefined
}

/** What an area adds to the edge of the platform, beside its operations. */
export interface EdgeAddition {
  /** Whether a request is for a host name that the area answers for. */
  claims?(request: IncomingMessage): boolean
  /** Only the loaded area knows its host names: its gate is asked, once no module claims the request. */
  readonly asksGate?: true
  readonly reroute?: Reroute
  /** Its `reroute` looks at the host, so it is asked before those that know a request by its path alone. */
  readonly routesByHost?: true
  readonly renderErrors?: RenderErrors
}

/** What an area is given: what it needs, its settings, and the ports that its listeners have; undefined where off. */
export type AreaGiven<
  Asked extends Needs,
  Declared extends Settings = Record<never, never>,
  Ports extends string = never,
> = ServicesOf<Asked> & {
  readonly settings: ValuesOf<Declared>
  readonly ports: Readonly<Record<Ports, number | undefined>>
}

/** What of it exists before the area is loaded: no driver is opened for it. */
type BeforeLoad<Asked extends Needs, Declared extends Settings> = AtHand<Asked> & {
  readonly settings: ValuesOf<Declared>
}

/** What the platform knows of an area that is not loaded. It must be cheap: every start pays for it. */
export interface AreaModule<
  Asked extends Needs = Needs,
  Declared extends Settings = Settings,
  Ports extends string = string,
> {
  readonly name: string
  readonly title: string
  /** Its operations are those of these areas of the contract. */
  readonly contract: readonly Area[]
  /** Its own variables; their values are given to it. */
  readonly settings?: Declared
  /** What it is given when it starts, and nothing else. Drivers among them are opened with the first module that needs them. */
  readonly needs: Asked
  readonly migrations?: MigrationSource
  readonly wakes?: Wakes<BeforeLoad<Asked, Declared>>
  /** Where it notes down which files of the blob port it keeps: all of them, or the others are removed after some hours. */
  readonly keepsBlobs?: readonly BlobKeeper[]
  /** What its tables hold of people. A test names every table with personal columns that no module declares. */
  readonly personalData?: PersonalDataSource
  /** What other areas may ask of it: it is loaded when one of them does. */
  readonly provides?: readonly OfferToken<unknown>[]
  readonly listeners?: Readonly<Record<Ports, PortListener<BeforeLoad<Asked, Declared>>>>
  edge?(given: BeforeLoad<Asked, Declared>): EdgeAddition
  /** How it is while it is not loaded; available, when left out. Opens the drivers that it needs. */
  state?(given: NoInfer<AreaGiven<Asked, Declared, Ports>>): AreaState | Promise<AreaState>
  /** Imports its code, at its first use. */
  load(): Promise<{
    start(
      given: NoInfer<AreaGiven<Asked, Declared, Ports>>,
    ): RunningArea<NoInfer<Ports>> | Promise<RunningArea<NoInfer<Ports>>>
  }>
}

/** Types a module by the needs, settings and listeners that it lists, and by nothing else. */
export const defineModule = <
  const Asked extends Needs,
  const Declared extends Settings = Record<never, never>,
  const Ports extends string = never,
>(
  module: AreaModule<Asked, Declared, Ports>,
): AreaModule => module as unknown as AreaModule
