import type { MigrationSource } from "./db/migrate.ts"
import type { BoundOperation } from "./implement.ts"

export interface AreaState {
  readonly status: "available" | "degraded" | "not_configured"
  /** Why it is not available, in a sentence. */
  readonly reason?: string
  /** The setting that enables what is missing. */
  readonly setting?: string
  readonly capabilities?: Readonly<Record<string, unknown>>
}

/** An area that has started. */
export interface RunningArea extends Partial<AsyncDisposable> {
  readonly operations: readonly BoundOperation[]
  /** How it is now. Asked for the status page, so it may look, but not for long. */
  state(): AreaState | Promise<AreaState>
}

/** What an area says of itself: its name, what it asks of the platform, and how it starts with that. */
export interface AreaDefinition<Services, Need extends keyof Services = keyof Services> {
  readonly name: string
  readonly title: string
  readonly needs: readonly Need[]
  readonly migrations?: MigrationSource
  start(services: Pick<Services, Need>): RunningArea | Promise<RunningArea>
}
