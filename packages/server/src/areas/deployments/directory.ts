/** Deployments as requests find them, from memory where possible, and which of their versions may answer. */
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { isUuid } from "../../kernel/id.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { RevisionSpec } from "../../services/serving/spec.ts"
import { isRolling } from "./rules.ts"
import type { SpecOf } from "./specs.ts"
import { type DeploymentRow, deploymentStore } from "./store.ts"

/** A deployment changed or is gone. */
export const DEPLOYMENT_TOPIC = "compute.deployment"
const CACHED_MAX = 10_000

/** Names never look like ids. */
export const columnOf = (ref: string): "id" | "name" => (isUuid(ref) ? "id" : "name")

export interface Known {
  readonly deployment: DeploymentRow
  /** What is to run. */
  readonly target: RevisionSpec
  readonly targetPorts: readonly number[]
  /** What runs until that does. */
  readonly before: RevisionSpec | undefined
}

export const readKnown = async (
  db: Db,
  specOf: SpecOf,
  deployment: DeploymentRow,
): Promise<Known | undefined> => {
  const store = deploymentStore(db)
  const { version, generation, ready_version, ready_generation } = deployment
  const target = await store.findVersion(deployment, version)
  if (!target) return undefined
  const before =
    isRolling(deployment) && ready_version !== null && ready_generation !== null
      ? await store.findVersion(deployment, ready_version)
      : undefined
  return {
    deployment,
    ...{ target: specOf(deployment, target, generation), targetPorts: target.ports },
    before: before && specOf(deployment, before, ready_generation ?? 0),
  }
}

export interface Directory {
  find(label: string): Known | undefined | Promise<Known | undefined>
}

export const createDirectory = (db: Db, changes: Changes, specOf: SpecOf): Directory =>
  createPushedCache<Known | undefined>({
    changes,
    topics: { [DEPLOYMENT_TOPIC]: "all", project: "all", organization: "all" },
    async read(label) {
      const row = await deploymentStore(db).findByLabel(label)
      return row && readKnown(db, specOf, row)
    },
    idOf: known => known?.deployment.id,
    entriesMax: CACHED_MAX,
  })
