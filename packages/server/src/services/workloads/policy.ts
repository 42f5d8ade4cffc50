/** In what the kinds of workloads differ: an area describes its kind by a policy, and `openWorkloads` does the rest. */
import type { FaultCode, PlatformEventType } from "@svc/contract"
import type { AliasableExpression, ColumnType, Expression, Selectable, SqlBool } from "kysely"
import type { NewPlatformEvent } from "../../core/platform-events/platform-events.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { RuntimeCapabilities } from "../../ports/runtime/port.ts"
import type { Image } from "../images/images.ts"
import type { CommandDefaults } from "./commands.ts"
import type { Env } from "./env.ts"
import type { EndReason, Live, Workload } from "./workload.ts"

/** The columns that the table of every kind has. */
export interface WorkloadColumns {
  id: string
  organization_id: string
  owner_id: string
  project_id: string | null
  host_id: string
  name: string | null
  status: string
  status_reason: string | null
  vcpus: number
  memory_mb: number
  disk_gb: number
  image_digest: string | null
  env: string | null
  env_names: string[]
  labels: ColumnType<unknown, string>
  isolation: string
  last_activity_at: Date | null
  created_at: Date
  updated_at: Date
  started_at: Date | null
  stopped_at: Date | null
}

export type WorkloadRow = Selectable<WorkloadColumns>

/** A workload that takes commands. */
export interface CommandWorkload extends Workload {
  readonly defaults: CommandDefaults
}

/** The names of the tables that have these columns. */
type WorkloadTable = {
  [Name in keyof Tables]: Tables[Name] extends WorkloadColumns ? Name : never
}[keyof Tables]

/** How the rows of a kind say what should be. */
export interface WorkloadTablePolicy {
  readonly table: WorkloadTable
  readonly states: {
    /** It should run, and has not yet been seen to. */
    readonly starting: string
    /** It has never run, and does not any more try to. */
    readonly failed: string
    /** A stop is recorded for these; in all others it has been recorded. */
    readonly stoppable: readonly string[]
    /** What a caller is told of one that is about to end. */
    readonly ending: string
  }
  /** Rows whose disk stays when the workload ends; undefined: all. */
  readonly persistent?: Expression<SqlBool>
  /** Rows that would run, had not their host been lost. */
  readonly hostLost: AliasableExpression<SqlBool>
}

export type StopReason = EndReason | "stopped"

export interface WorkloadPolicy<Row extends WorkloadRow, Item extends CommandWorkload>
  extends WorkloadTablePolicy {
  /** In logs and audit entries, and part of what a sealed environment belongs to. */
  readonly resource: string
  readonly faults: { readonly notFound: FaultCode; readonly notRunning: FaultCode }
  imageOf(row: Row): string
  /** Whether its disk stays when it ends. */
  isPersistent(row: Row): boolean
  /** How long it runs at most; null: without a deadline. */
  timeoutMsOf(row: Row): number | null
  toItem(row: Row, env: Env, image: Image, capabilities: RuntimeCapabilities): Item
  /** The event that tells of a change; undefined where none does. */
  eventOf(
    change: "started" | "stopped" | "deleted",
    row: Row,
  ): NewPlatformEvent<PlatformEventType> | undefined
  /** Changes of the kind's own columns, and of `status_reason` where the kind says more in it. */
  readonly changes: {
    /** `provisionMs` is undefined of one that ran on while its host was taken for lost. */
    started(live: Live<Item>, provisionMs: number | undefined): Partial<Row>
    stopped(reason: StopReason): Partial<Row>
    failed(): Partial<Row>
    hostLost(): Partial<Row>
  }
  /** Runs once it is on record as running, before callers use it. */
  afterStart?(live: Live<Item>, row: Row): Promise<void>
}
