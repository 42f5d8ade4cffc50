import type { Readable, Writable } from "node:stream"
import type { RuntimeCapabilities, WorkloadSpec, WorkloadStats } from "./port.ts"

/**
 * What a driver must do; `runtime.ts` makes the port of it. It is called for one thing at a time for each workload.
 */
export interface Engine extends AsyncDisposable {
  readonly capabilities: RuntimeCapabilities
  /** Until an agent has answered; left out: as long as one takes that is not emulated. */
  readonly startMsMax?: number
  health(): Promise<{ readonly ok: boolean; readonly reason?: string }>
  /** Makes the disk. Does nothing when it is there. */
  prepare(spec: WorkloadSpec): Promise<void>
  /** Starts the guest agent in a workload that does not run; makes the disk if it is missing. */
  boot(spec: WorkloadSpec): Promise<Booted>
  /** Removes all that is left of a workload that does not run. */
  erase(id: string): Promise<void>
  /** All that have something on the host. */
  list(): Promise<readonly string[]>
}

/** A workload with an agent in it. */
export interface Booted {
  /** Where the agent reads, and what it says. */
  readonly stream: { readonly input: Writable; readonly output: Readable }
  /** Resolves when no process of it is left, and nothing but its disk on the host. */
  readonly ended: Promise<"out_of_memory" | "died">
  /** Ends all of it at once, frozen or not. */
  kill(): void
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** What can be measured from outside; the rest is asked of the agent. */
  stats(): Promise<Partial<WorkloadStats>>
}
