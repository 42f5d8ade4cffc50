/** Which instances are kept while nothing is invoked. */
import { type PlanName, plans } from "@svc/contract"

interface Wanting {
  readonly project_id: string
  readonly plan: string
  readonly memory_mb: number
  readonly min_instances: number
}

/** Of the memory that a host promises to workloads, what may wait without work. */
const HOST_SHARE = 0.5

/**
 * Shares out what may be kept, to the first rows first: of each project as many as its plan allows, though it may have
 * deployed under a larger one, and all together within the host's share.
 */
export const shareOut = <Row extends Wanting>(
  rows: readonly Row[],
  hostMemoryBytes: number,
): { row: Row; instances: number }[] => {
  const ofProjects = new Map<string, number>()
  let leftMb = (hostMemoryBytes * HOST_SHARE) / 2 ** 20
  return rows.map(row => {
    const kept = ofProjects.get(row.project_id) ?? 0
    const allowed = plans[row.plan as PlanName].kept_instances - kept
    const fitting = Math.floor(leftMb / row.memory_mb)
    const instances = Math.max(0, Math.min(row.min_instances, allowed, fitting))
    ofProjects.set(row.project_id, kept + instances)
    leftMb -= instances * row.memory_mb
    return { row, instances }
  })
}
