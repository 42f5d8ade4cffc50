/** Workloads as those see them who run them. */

import type { Guest, WorkloadSpec } from "../../ports/runtime/port.ts"
import { ImagesStoppedError } from "../images/image-error.ts"

/** What an area runs, as far as running it goes. */
export interface Workload {
  readonly spec: WorkloadSpec
  readonly organizationId: string
  readonly ownerId: string
  readonly projectId: string | null
  /** Idle time after which it ends; 0: never. */
  readonly idleMs: number
}

/** Why a workload ended without having been asked to. */
export type EndReason = "deadline" | "idle" | "out_of_memory" | "died"

/** One that runs in this process. */
export interface Live<Item extends Workload> {
  readonly item: Item
  readonly guest: Guest
  readonly startedMs: number
  expiresAtMs: number | null
  lastUsedMs: number
  /** Calls that use it now. */
  holds: number
  /** Up to when its time is counted. */
  meteredMs: number
  /** The last reading, for shares of processor time. */
  reading: { readonly cpuMs: number; readonly atMs: number }
}

/** A workload that runs already, with its place on the host. */
export interface Started {
  readonly guest: Guest
  readonly room: Disposable
}

export interface LaunchOptions<Item extends Workload> {
  /** Its place, when it has one already. */
  readonly room?: Disposable
  readonly timeoutMs: number | null
  /**
   * What is started in place of the item, when that takes long to find out: the workload is not locked meanwhile, so
   * that it can be stopped and deleted.
   */
  readonly prepare?: () => Promise<Item>
  readonly settle: (live: Live<Item>) => Promise<void>
  readonly fail: (error: unknown) => Promise<void>
}

/** A workload was stopped or deleted before it could start. */
export class UnwantedError extends Error {
  override readonly name = "UnwantedError"
}

/** Whether it did not start for no fault of its own: what is on record stays. */
export const isNoFailure = (error: unknown): boolean =>
  error instanceof UnwantedError || error instanceof ImagesStoppedError
