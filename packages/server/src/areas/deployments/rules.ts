/** How many instances of which version are to run, and what is said of a deployment. */
import type { DeploymentStatus } from "@svc/contract"
import type { Replica } from "../../services/serving/pool.ts"

export interface Counts {
  readonly ready: number
  /** Start, for the first time or again. */
  readonly starting: number
  readonly restarting: number
  /** Ended, as they may. */
  readonly done: number
  readonly failed: number
  /** Why the last one ended or could not start that should run. */
  readonly reason: string | null
}

export const countsOf = (replicas: readonly Pick<Replica, "status" | "reason">[]): Counts => {
  const of = (...statuses: Replica["status"][]) => replicas.filter(({ status }) => statuses.includes(status))
  const troubled = of("FAILED", "RESTARTING", "STARTING")
  return {
    ready: of("RUNNING").length,
    starting: of("STARTING").length,
    restarting: of("RESTARTING", "UNHEALTHY").length,
    done: of("DONE").length,
    failed: of("FAILED").length,
    reason: troubled.find(({ reason }) => reason !== null)?.reason ?? null,
  }
}

/** What is to run, and how far that is. */
export interface Desired {
  readonly min_instances: number
  readonly generation: number
  readonly ready_generation: number | null
  readonly failed_generation: number | null
  readonly failed_reason: string | null
}

/** Another version, or the same before a restart, runs until this one does. */
export const isRolling = ({ generation, ready_generation }: Desired): boolean =>
  ready_generation !== null && ready_generation !== generation

export const hasFailed = (of: Desired): boolean => of.failed_generation === of.generation

/** Instances of the version that is to run, and of the one that it replaces: one more at a time than are to run. */
export const wantedOf = (of: Desired, { ready, done }: Pick<Counts, "ready" | "done">) => {
  const { min_instances: wanted } = of
  if (!isRolling(of)) return { target: wanted, before: 0 }
  if (hasFailed(of)) return { target: 0, before: wanted }
  const there = Math.min(wanted, ready + done)
  return { target: Math.min(wanted, there + 1), before: wanted - there }
}

/** All of the version that is to run are there. */
export const hasArrived = (of: Desired, { ready, done }: Pick<Counts, "ready" | "done">): boolean =>
  of.min_instances > 0 && of.ready_generation !== of.generation && ready + done >= of.min_instances

/** It cannot take the place of the one before. */
export const cannotArrive = (of: Desired, { failed }: Pick<Counts, "failed">): boolean =>
  isRolling(of) && !hasFailed(of) && failed > 0

export interface Said {
  readonly status: DeploymentStatus
  readonly reason: string | null
  readonly ready: number
}

const settled = (of: Desired, counts: Counts): Omit<Said, "ready"> => {
  const { ready, starting, restarting, done, failed, reason } = counts
  if (ready >= of.min_instances) return { status: "RUNNING", reason: null }
  const isOver = ready + starting + restarting === 0
  if (isOver && failed > 0) return { status: "FAILED", reason }
  if (isOver && done > 0) return { status: "STOPPED", reason: "its instances have ended" }
  const isTroubled = restarting + failed > 0
  return { status: isTroubled && of.ready_generation !== null ? "DEGRADED" : "DEPLOYING", reason }
}

export const statusOf = (of: Desired, target: Counts, before: Counts): Said => {
  const ready = target.ready + before.ready
  if (of.min_instances === 0) return { status: "STOPPED", reason: null, ready }
  if (!isRolling(of)) return { ...settled(of, target), ready }
  if (!hasFailed(of)) return { status: "DEPLOYING", reason: target.reason, ready }
  return { status: ready === 0 ? "FAILED" : "DEGRADED", reason: of.failed_reason, ready }
}
