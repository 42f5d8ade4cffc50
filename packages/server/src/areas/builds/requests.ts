/** From what a caller asks for to a queued build. */
import {
  BUILD_ARGS_BYTES_MAX,
  BUILD_ARGS_MAX,
  BUILD_TIMEOUT_SECONDS_DEFAULT,
  BUILDS_UNFINISHED_MAX,
} from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { PLATFORM } from "./engine/platform.ts"
import { shownArgs } from "./masking.ts"
import { type BuildRow, buildStore } from "./store.ts"

export const RUN_QUEUE = "builds.run"

export interface RunPayload {
  readonly projectId: string
  readonly buildId: string
}

export interface QueueNeeds {
  readonly box: SecretBox
  readonly jobs: Jobs
  readonly platformEvents: PlatformEvents
}

export interface Asked {
  readonly image_tag?: string | undefined
  readonly dockerfile_path?: string | undefined
  readonly timeout_seconds?: number | undefined
  readonly target?: string | undefined
  readonly platform?: string | undefined
  readonly no_cache?: boolean | undefined
}

export type Args = Readonly<Record<string, string>>

/** What sealed build arguments belong to. */
export const argsContext = (id: string): string => `build ${id} args`
/** What a sealed token of a repository belongs to. */
export const tokenContext = (id: string): string => `build ${id} token`

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

export const checkArgs = (value: unknown): Args => {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
  const entries = isObject ? Object.entries(value) : []
  const isFine =
    isObject &&
    entries.length <= BUILD_ARGS_MAX &&
    entries.every(([name, text]) => NAME.test(name) && typeof text === "string" && !text.includes("\0")) &&
    Buffer.byteLength(JSON.stringify(value)) <= BUILD_ARGS_BYTES_MAX
  if (!isFine) throw fault("invalid_build_args")
  return Object.fromEntries(entries) as Args
}

/** Of the query of an upload. */
export const parseArgs = (text: string | undefined): Args => {
  if (text === undefined || text === "") return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw fault("invalid_build_args")
  }
  return checkArgs(value)
}

const refuse = (reason: string) => fault("invalid_parameter", { reason })

export interface AskedRepository {
  readonly repository: string
  readonly branch?: string | undefined
  readonly commit_sha?: string | undefined
  readonly context_path?: string | undefined
  readonly auth_token?: string | undefined
}

const GITHUB = "https://github.com/"
const SHORT_NAME = /^[A-Za-z0-9][A-Za-z0-9-]*\/[A-Za-z0-9._-]+$/

/** The URL of a repository; refused where it cannot be one that is fetched. */
export const checkRepository = (
  { repository, context_path: path }: AskedRepository,
  urlProblem: (url: string) => string | undefined,
): string => {
  const url = SHORT_NAME.test(repository) ? GITHUB + repository : repository
  const problem = urlProblem(url)
  if (problem !== undefined) throw refuse(`\`repository\`: ${problem}`)
  if (/[?#]/.test(url)) throw refuse("`repository` must end with its path")
  if (path?.split("/").includes("..")) throw refuse("`context_path` leads out of the repository")
  return url
}

export const checkAsked = ({ platform, dockerfile_path: path }: Asked) => {
  if (platform !== undefined && platform !== PLATFORM)
    throw refuse(`\`platform\` is ${PLATFORM} here: images are built for the server's own`)
  if (path?.split("/").includes("..")) throw refuse("`dockerfile_path` leads out of the build's context")
}

const imageOf = (asked: string | undefined, id: string) => {
  const [repository = "", tag] = (asked ?? `build:${id.slice(-12)}`).split(":", 2)
  return { image_repository: repository, image_tag: tag ?? "latest" }
}

export const newBuild = async (
  call: Call,
  box: SecretBox,
  id: string,
  asked: Asked & { readonly args: Args; readonly from?: AskedRepository },
): Promise<BuildRow> => {
  const { organizationId, projectId } = call.projectTenant
  const { from } = asked
  return {
    ...{ organization_id: organizationId, project_id: projectId, id, status: "QUEUED", status_reason: null },
    ...{
      source: from ? "git" : "upload",
      repository: from?.repository ?? null,
      branch: from?.branch ?? null,
    },
    ...{ commit_sha: from?.commit_sha ?? null, context_path: from?.context_path ?? null },
    auth_token:
      from?.auth_token === undefined
        ? null
        : await box.seal(organizationId, tokenContext(id), from.auth_token),
    ...imageOf(asked.image_tag, id),
    ...{ image_digest: null, image_size_bytes: null, dockerfile_path: asked.dockerfile_path ?? null },
    build_args: await box.seal(organizationId, argsContext(id), JSON.stringify(asked.args)),
    build_args_shown: shownArgs(asked.args),
    ...{ target: asked.target ?? null, no_cache: asked.no_cache ?? false },
    timeout_seconds: asked.timeout_seconds ?? BUILD_TIMEOUT_SECONDS_DEFAULT,
    ...{ cached_steps: 0, total_steps: 0, created_at: call.now, updated_at: call.now },
    ...{ started_at: null, finished_at: null },
  }
}

/** With the transaction that makes it. */
export const queueBuild = async (
  db: Db,
  { jobs, platformEvents }: QueueNeeds,
  row: BuildRow,
  uploadAddress?: string,
): Promise<void> => {
  const { organization_id: organizationId, project_id: projectId, id: buildId } = row
  const store = buildStore(db)
  if ((await store.countUnfinished(projectId)) >= BUILDS_UNFINISHED_MAX)
    throw fault("plan_limit_reached", {
      limit: BUILDS_UNFINISHED_MAX,
      resources: "unfinished builds a project",
    })
  await store.insert(row)
  if (uploadAddress !== undefined) await store.addUpload(projectId, buildId, uploadAddress)
  const payload: RunPayload = { projectId, buildId }
  await jobs.enqueue(db, { queue: RUN_QUEUE, tenantId: organizationId, payload })
  const data = { build_id: buildId, image: null }
  await platformEvents.emit(db, { organizationId, projectId, type: "build.queued", data })
}

export const newBuildId = (call: Call): string => newId(call.now.getTime())
