/** A version of a deployment as the engine runs it. */
import { DEPLOYMENT_CONCURRENCY } from "@svc/contract"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { ImageError } from "../../services/images/image-error.ts"
import type { Image, Images } from "../../services/images/images.ts"
import { imageLaunch } from "../../services/serving/image-launch.ts"
import { type Launch, type RestartRule, type RevisionSpec, StartError } from "../../services/serving/spec.ts"
import { openEnv } from "../../services/workloads/env.ts"
import { type DeploymentRow, deploymentStore, type VersionRow } from "./store.ts"

export interface SpecNeeds {
  readonly db: Db
  readonly box: SecretBox
  readonly images: Pick<Images, "prepare">
  readonly runtime: Pick<RuntimePort, "capabilities">
}

/** How long an instance stays that was started for more requests than the others could take. */
const EXTRA_IDLE_MS = 60_000
/** How long a request waits while no instance is ready. */
const WAIT_MS = 60_000

/** What the sealed variables of a version belong to. */
export const envPlace = (organizationId: string, id: string) => ({
  ...{ organizationId, kind: "deployments.env", id },
})

/** The generation says how often something was made to run anew. */
export type SpecOf = (deployment: DeploymentRow, version: VersionRow, generation: number) => RevisionSpec

export const createSpecs = ({ db, box, images, runtime }: SpecNeeds): SpecOf => {
  const store = deploymentStore(db)

  const openImage = async (row: VersionRow): Promise<Image> => {
    const of = { id: row.deployment_id, organization_id: row.organization_id }
    const fresh = await store.findVersion(of, row.number)
    const known = fresh?.image_digest ?? row.image_digest
    try {
      const image = await images.prepare(row.image, known)
      if (known === null && image.digest !== null) await store.pinDigest(row, image.digest)
      return image
    } catch (error) {
      if (error instanceof ImageError) throw new StartError(error.message, true)
      throw error
    }
  }

  const open = async (row: VersionRow): Promise<Launch> => {
    const image = await openImage(row)
    const own = await openEnv(box, envPlace(row.organization_id, row.version_id), row.env)
    const [port] = row.ports
    const env = { ...own, ...(port !== undefined && { PORT: String(port) }) }
    return imageLaunch(image, { ...row, env }, runtime.capabilities)
  }

  return (deployment, row, generation) => ({
    ...{ id: `${row.version_id}.${generation}`, serviceId: deployment.id },
    ...{ organizationId: deployment.organization_id, projectId: deployment.project_id },
    ...{ port: row.ports[0] ?? null, concurrency: DEPLOYMENT_CONCURRENCY },
    ...{ vcpus: row.vcpus, memoryMb: row.memory_mb, idleMs: EXTRA_IDLE_MS, waitMs: WAIT_MS },
    ...{ minInstances: deployment.min_instances, maxInstances: deployment.max_instances },
    restart: { when: row.restart_policy as RestartRule["when"], retriesMax: row.max_retries },
    health: {
      path: row.health_path,
      ...(row.health_port !== null && { port: row.health_port }),
      intervalMs: row.health_interval_seconds * 1000,
      timeoutMs: row.health_timeout_seconds * 1000,
      graceMs: row.health_grace_seconds * 1000,
      unhealthyThreshold: row.unhealthy_threshold,
    },
    open: () => open(row),
  })
}
