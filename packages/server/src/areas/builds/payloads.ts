import type { areas, Input } from "@svc/contract"
import { PLATFORM } from "./engine/platform.ts"
import type { BuildRow, LineRow } from "./store.ts"

type Specs = (typeof areas.builds)["specs"]
export type UploadInput = Input<Specs["upload"]>
export type CreateInput = Input<Specs["create"]>

/** What deployments name: with the digest, so that it stays what it is. */
export const imageRefOf = (host: string, { project_id, image_repository, image_digest }: BuildRow) =>
  image_digest === null ? null : `${host}/${project_id}/${image_repository}@${image_digest}`

export const imageNameOf = ({
  image_repository,
  image_tag,
}: Pick<BuildRow, "image_repository" | "image_tag">) => `${image_repository}:${image_tag}`

const iso = (at: Date | null): string | null => at?.toISOString() ?? null

export const payloadOf = (row: BuildRow, host: string) => {
  const { started_at, finished_at } = row
  return {
    ...{ id: row.id, status: row.status, status_reason: row.status_reason, source: row.source },
    ...{ repository: row.repository, branch: row.branch, commit_sha: row.commit_sha },
    context_path: row.context_path,
    ...{ image_tag: imageNameOf(row), image_ref: imageRefOf(host, row) },
    ...{ image_digest: row.image_digest, image_size_bytes: row.image_size_bytes },
    ...{ dockerfile_path: row.dockerfile_path, build_args: { ...row.build_args_shown }, target: row.target },
    ...{ platform: PLATFORM, timeout_seconds: row.timeout_seconds },
    ...{ cached_steps: row.cached_steps, total_steps: row.total_steps },
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    ...{ started_at: iso(started_at), finished_at: iso(finished_at) },
    duration_ms: finished_at && started_at ? finished_at.getTime() - started_at.getTime() : null,
    project_id: row.project_id,
  }
}

export const lineOf = ({ at, step, stream, message }: LineRow) => ({
  ...{ timestamp: at.toISOString(), step, stream, message },
})
