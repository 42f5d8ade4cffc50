/** A revision as the engine runs it. */
import { RUN_FILES_FOLDER } from "@svc/contract"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { ImageError } from "../../services/images/image-error.ts"
import type { Image, Images } from "../../services/images/images.ts"
import { imageLaunch } from "../../services/serving/image-launch.ts"
import { type Launch, type RevisionSpec, StartError } from "../../services/serving/spec.ts"
import { type RevisionRow, type ServiceRow, serviceStore } from "./store.ts"

export interface SpecNeeds {
  readonly db: Db
  readonly box: SecretBox
  readonly atRest: AtRest
  readonly images: Pick<Images, "prepare">
  readonly runtime: Pick<RuntimePort, "capabilities">
}

export const envContext = (revisionId: string): string => `run_services.env:${revisionId}`
export const filesContext = (serviceId: string, sha256: string): string =>
  `run_services.files:${serviceId}:${sha256}`

export type SpecOf = (service: ServiceRow, revision: RevisionRow) => RevisionSpec

export const createSpecs = (needs: SpecNeeds): SpecOf => {
  const { db, box, atRest, images, runtime } = needs
  const store = serviceStore(db)

  const openImage = async (row: RevisionRow): Promise<Image> => {
    const fresh = await store.findRevision(
      { id: row.service_id, organization_id: row.organization_id },
      "revision_id",
      row.revision_id,
    )
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

  const launchOf = async (row: RevisionRow): Promise<Launch> => {
    const image = await openImage(row)
    const own =
      row.env === null
        ? {}
        : JSON.parse(await box.open(row.organization_id, envContext(row.revision_id), row.env))
    const env = { ...own, PORT: String(row.port) }
    const launch = imageLaunch(image, { ...row, env }, runtime.capabilities)
    const { files_sha256: sha256 } = row
    if (sha256 === null) return launch
    return {
      ...launch,
      cwd: RUN_FILES_FOLDER,
      files: {
        at: RUN_FILES_FOLDER,
        sha256,
        async read() {
          const pack = await store.readFiles(row.organization_id, row.service_id, sha256)
          return atRest.readBytes(row.organization_id, filesContext(row.service_id, sha256), pack)
        },
      },
    }
  }

  return (service, row) => ({
    ...{ id: row.revision_id, serviceId: service.id },
    ...{ organizationId: service.organization_id, projectId: service.project_id },
    ...{ port: row.port, concurrency: row.concurrency, vcpus: row.vcpus, memoryMb: row.memory_mb },
    ...{ minInstances: service.min_instances, maxInstances: service.max_instances },
    ...{ idleMs: row.idle_timeout_seconds * 1000, waitMs: row.timeout_seconds * 1000 },
    health: {
      path: row.health_path,
      intervalMs: row.health_interval_seconds * 1000,
      timeoutMs: row.health_timeout_seconds * 1000,
      graceMs: row.health_grace_seconds * 1000,
      unhealthyThreshold: row.unhealthy_threshold,
    },
    open: () => launchOf(row),
  })
}
