import { plans } from "@svc/contract"

/** How much disk databases may take; null is no limit. */
export interface DiskLimits {
  /** Of the data of one database, with its branches. */
  readonly databaseBytes: number | null
  /** Of the data of all databases of a project. */
  readonly projectBytes: number | null
  /** Of the history of one database, with its branches. */
  readonly historyBytes: number | null
}

const GB = 1024 ** 3
/** History holds an image of the data, as large as they are, and the log since; while the next image is made, two. */
const HISTORY_OF_DATA = 2
const PROJECT_OF_DATABASE = 2

const gigabytes = (gb: number | null): number => (gb === null ? Number.POSITIVE_INFINITY : gb * GB)
const orNull = (bytes: number): number | null => (Number.isFinite(bytes) ? bytes : null)

/** What a plan gives, or the operator's own bound where that is less. */
export const createLimits =
  (operatorsMax: number = Number.POSITIVE_INFINITY) =>
  (plan: string): DiskLimits => {
    const allowed = Object.entries(plans).find(([name]) => name === plan)?.[1]
    const database = Math.min(gigabytes(allowed?.database_gb ?? null), operatorsMax)
    const project = Math.min(
      gigabytes(allowed?.project_databases_gb ?? null),
      PROJECT_OF_DATABASE * operatorsMax,
    )
    return {
      databaseBytes: orNull(database),
      projectBytes: orNull(project),
      historyBytes: orNull(HISTORY_OF_DATA * database),
    }
  }

export type StorageState = "ok" | "warning" | "read_only"

const WARNING = 0.8
/** Below the limit by enough that a database does not change its state with every row. */
const WRITABLE = 0.95

/** Which state follows from what is used of each limit. */
export const nextState = (
  now: StorageState,
  used: readonly { readonly bytes: number; readonly limit: number | null }[],
  { readOnlyVolumes }: { readonly readOnlyVolumes: boolean },
): StorageState => {
  const part = Math.max(...used.map(({ bytes, limit }) => (limit === null ? 0 : bytes / limit)))
  // A state that nothing enforces would be a lie.
  if (!readOnlyVolumes) return part >= WARNING ? "warning" : "ok"
  if (part > 1 || (now === "read_only" && part > WRITABLE)) return "read_only"
  return part >= WARNING ? "warning" : "ok"
}
