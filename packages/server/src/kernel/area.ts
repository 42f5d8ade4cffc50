import type { IncomingMessage } from "node:http"
import type { Area, CronTargetType } from "@svc/contract"
import type { MigrationSource } from "./db/migrate.ts"
import type { HostGate } from "./edges/host-gate.ts"
import type { Reroute } from "./edges/http.ts"
import type { RenderErrors } from "./edges/reply.ts"
import type { BoundOperation } from "./implement.ts"

export interface AreaState {
  readonly status: "available" | "degraded" | "not_configured"
  /** Why it is not available, in a sentence. */
  readonly reason?: string
  /** The setting that enables what is missing. */
  readonly setting?: string
  readonly capabilities?: Readonly<Record<string, unknown>>
}

/** An area that is loaded. */
export interface RunningArea extends Partial<AsyncDisposable> {
  readonly operations: readonly BoundOperation[]
  /** Answers requests for the host names that its module claims. */
  readonly gate?: HostGate | undefined
  /** How it is now, where it knows more than its module. Asked for the status page, so it may look, but not for long. */
  state?(): AreaState | Promise<AreaState>
}

/** What makes the platform load an area though nobody calls it. */
export interface Wakes<Given> {
  /** Why it is loaded before the platform is ready; undefined where that is not necessary. */
  atStart?(services: Given): string | undefined
  /** Tables of work that goes on by itself: the area is loaded where one of them has a row, within a minute. */
  readonly rowsIn?: readonly string[]
  /** Its queues and schedules, all of them: it is loaded when a job is due. */
  readonly queues?: readonly string[]
  /** It listens to the events of the platform: it is loaded at the first. */
  readonly platformEvents?: true
  /** What it can do for schedules: it is loaded when one of them names it. */
  readonly scheduleTargets?: readonly CronTargetType[]
}

/** What an area adds to the edge of the platform, beside its operations. */
export interface EdgeAddition {
  /** Whether a request is for a host name that the area answers for. */
  claims?(request: IncomingMessage): boolean
  readonly reroute?: Reroute
  readonly renderErrors?: RenderErrors
}

/** What of its needs an area has before it is loaded: what is there anyway, and no driver. */
type AtHand<Services, Need> = Pick<Services, Need & keyof Services>

/** What the platform knows of an area that is not loaded. It must be cheap: every start pays for it. */
export interface AreaModule<
  Services,
  Drivers,
  Need extends keyof (Services & Drivers) = keyof (Services & Drivers),
> {
  readonly name: string
  readonly title: string
  /** Its operations are those of these areas of the contract. */
  readonly contract: readonly Area[]
  /** What it is given when it starts, and nothing else. Drivers among them are opened with the first area that needs them. */
  readonly needs: readonly Need[]
  readonly migrations?: MigrationSource
  readonly wakes?: Wakes<AtHand<Services, Need>>
  /** The services among the platform's offers that it provides: it is loaded when one is asked for. */
  readonly provides?: readonly (keyof Services)[]
  edge?(services: AtHand<Services, Need>): EdgeAddition
  /** How it is while it is not loaded; available, when left out. Opens the drivers that it needs. */
  state?(given: Pick<Services & Drivers, Need>): AreaState | Promise<AreaState>
  /** Imports its code, at its first use. */
  load(): Promise<{ start(given: Pick<Services & Drivers, Need>): RunningArea | Promise<RunningArea> }>
}
