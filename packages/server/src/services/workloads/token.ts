import { openedToken } from "../../kernel/token.ts"
import type { CommandWorkload, WorkloadPolicy, WorkloadRow } from "./policy.ts"
import type { Workloads } from "./workloads.ts"

export interface WorkloadService {
  /** Resolves once what should run on this host is being started. */
  open<Row extends WorkloadRow, Item extends CommandWorkload>(
    policy: WorkloadPolicy<Row, Item>,
  ): Promise<Workloads<Row, Item>>
}

/** Runs the workloads of an area, by its policy. */
export const workloads = openedToken<WorkloadService>("workloads")
