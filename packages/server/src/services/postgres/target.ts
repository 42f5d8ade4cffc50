import type { VolumeRef } from "../../ports/engine/port.ts"

/** The branch that a call addresses, with what is needed to reach it. */
export interface Target {
  readonly organizationId: string
  readonly projectId: string
  readonly databaseId: string
  readonly branchId: string
  readonly volume: VolumeRef
  /** It exceeds its disk limit and is read-only; see `disk/quota.ts`. */
  readonly isFull?: boolean
}

/** How a request names a branch. Without any name it means the project's default database, made on first use by a caller who may write. */
export interface TargetInput {
  readonly database_id?: string | null
  readonly branch_id?: string | null
}
