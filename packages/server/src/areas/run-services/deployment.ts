/** Reads and checks what is to be deployed. */
import {
  type areas,
  type Input,
  RUN_CONCURRENCY_DEFAULT,
  RUN_ENV_BYTES_MAX,
  RUN_FILES_FOLDER,
  RUN_IDLE_SECONDS_DEFAULT,
  RUN_MEMORY_MB_DEFAULT,
  RUN_PORT_DEFAULT,
  RUN_TIMEOUT_SECONDS_DEFAULT,
  RUN_VCPUS_DEFAULT,
} from "@svc/contract"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { HOST, type Images } from "../../services/images/images.ts"
import { type Code, fromBase64Zip, fromFiles, packCode, SourceError } from "../../services/serving/source.ts"
import type { ServiceUrls } from "../../services/serving/urls.ts"
import { envContext, filesContext } from "./specs.ts"
import { WHY_NO_URL, whyNone } from "./state.ts"
import { type RevisionRow, type ServiceRow, serviceStore } from "./store.ts"

export type DeployInput = Omit<Input<(typeof areas.run.specs)["update"]>, "id">

export interface DeploymentNeeds {
  readonly box: SecretBox
  readonly atRest: AtRest
  readonly images: Pick<Images, "check">
  readonly runtime: Pick<RuntimePort, "capabilities">
  readonly urls: ServiceUrls | undefined
}

const CONFIG = [
  ...(["image", "files", "files_zip", "command", "args", "env", "port", "vcpus", "memory_mb"] as const),
  ...(["concurrency", "timeout_seconds", "idle_timeout_seconds", "health_check"] as const),
] as const

/** Whether it changes what runs, and not only how much of it. */
export const isNewRevision = (input: DeployInput): boolean => CONFIG.some(field => input[field] !== undefined)

const invalid = (reason: string) => fault("invalid_parameter", { reason })

const readFiles = async (input: DeployInput): Promise<Code | undefined> => {
  if (input.files !== undefined && input.files_zip !== undefined)
    throw invalid("send one of files and files_zip")
  try {
    if (input.files !== undefined) return await packCode(fromFiles(input.files))
    if (input.files_zip !== undefined) return await packCode(fromBase64Zip("files_zip", input.files_zip))
    return undefined
  } catch (error) {
    throw error instanceof SourceError ? invalid(`files: ${error.message}`) : error
  }
}

const sealEnv = async (
  box: SecretBox,
  revisionId: string,
  env: Readonly<Record<string, string>>,
  call: Call,
): Promise<Pick<RevisionRow, "env" | "env_names">> => {
  const entries = Object.entries(env)
  const bytes = entries.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  )
  if (bytes > RUN_ENV_BYTES_MAX) throw invalid(`env: more than ${RUN_ENV_BYTES_MAX} bytes`)
  if (entries.some(([, value]) => value.includes("\0")))
    throw invalid("env: values cannot hold null characters")
  if (entries.length === 0) return { env: null, env_names: [] }
  const sealed = await box.seal(call.organization.id, envContext(revisionId), JSON.stringify(env))
  return { env: sealed, env_names: entries.map(([name]) => name).sort() }
}

/** What is sealed is bound to its revision, so it is sealed anew for the next one. */
const envColumns = async (
  box: SecretBox,
  revisionId: string,
  input: DeployInput,
  before: ServiceRow | undefined,
  call: Call,
): Promise<Pick<RevisionRow, "env" | "env_names">> => {
  if (input.env || !before) return sealEnv(box, revisionId, input.env ?? {}, call)
  if (before.env === null) return { env: null, env_names: [] }
  const env = JSON.parse(await box.open(call.organization.id, envContext(before.revision_id), before.env))
  return sealEnv(box, revisionId, env, call)
}

const commandOf = (command: string | readonly string[] | undefined): string[] | undefined =>
  typeof command === "string" ? ["/bin/sh", "-c", command] : command && [...command]

const healthColumns = ({ health_check: given }: DeployInput, before: ServiceRow | undefined) => {
  if (!given && before) {
    const {
      health_path,
      health_interval_seconds,
      health_timeout_seconds,
      health_grace_seconds,
      unhealthy_threshold,
    } = before
    return {
      health_path,
      health_interval_seconds,
      health_timeout_seconds,
      health_grace_seconds,
      unhealthy_threshold,
    }
  }
  return {
    health_path: given?.path ?? null,
    health_interval_seconds: given?.interval_seconds ?? 10,
    health_timeout_seconds: given?.timeout_seconds ?? 5,
    health_grace_seconds: given?.grace_period_seconds ?? 60,
    unhealthy_threshold: given?.unhealthy_threshold ?? 3,
  }
}

/** The columns of the next revision: what is given, else what the one before has, else the defaults. */
const configColumns = (input: DeployInput, before: ServiceRow | undefined) => ({
  image: input.image ?? before?.image ?? HOST,
  // Named again it is asked for again, whatever it stood for before.
  image_digest: input.image === undefined ? (before?.image_digest ?? null) : null,
  command: commandOf(input.command) ?? before?.command ?? null,
  args: input.args ?? before?.args ?? null,
  port: input.port ?? before?.port ?? RUN_PORT_DEFAULT,
  vcpus: input.vcpus ?? before?.vcpus ?? RUN_VCPUS_DEFAULT,
  memory_mb: input.memory_mb ?? before?.memory_mb ?? RUN_MEMORY_MB_DEFAULT,
  concurrency: input.concurrency ?? before?.concurrency ?? RUN_CONCURRENCY_DEFAULT,
  timeout_seconds: input.timeout_seconds ?? before?.timeout_seconds ?? RUN_TIMEOUT_SECONDS_DEFAULT,
  idle_timeout_seconds:
    input.idle_timeout_seconds ?? before?.idle_timeout_seconds ?? RUN_IDLE_SECONDS_DEFAULT,
  ...healthColumns(input, before),
})

/** Throws `not_implemented` for what cannot run here, with the setting that would let it. */
const checkHost = (
  { runtime: { capabilities }, urls }: DeploymentNeeds,
  image: string,
  hasFiles: boolean,
) => {
  const reason = whyNone(capabilities) ?? (urls ? undefined : WHY_NO_URL)
  if (reason !== undefined) throw fault("not_implemented", { reason })
  const { driver, roots, mounts } = capabilities
  if (image !== HOST && !roots.includes("image"))
    throw fault("not_implemented", { reason: `the driver ${driver} starts no images here (SVC_RUNTIME)` })
  if (hasFiles && !mounts)
    throw fault("not_implemented", {
      reason: `the driver ${driver} cannot show a service its files (SVC_RUNTIME)`,
    })
}

export interface Deployment {
  readonly columns: Omit<
    RevisionRow,
    "organization_id" | "service_id" | "revision_id" | "number" | "status" | "status_reason" | "deployed_at"
  >
  /** Undefined: the files stay. */
  readonly files: Code | undefined
}

/** Reads and checks it, before anything is written. */
export const readDeployment = async (
  needs: DeploymentNeeds,
  revisionId: string,
  input: DeployInput,
  before: ServiceRow | undefined,
  call: Call,
): Promise<Deployment> => {
  const columns = configColumns(input, before)
  const files = await readFiles(input)
  const files_sha256 = files?.sha256 ?? before?.files_sha256 ?? null
  checkHost(needs, columns.image, files_sha256 !== null)
  if (input.image !== undefined) needs.images.check(input.image)
  if (columns.image === HOST && columns.command === null)
    throw fault("missing_parameter", { field: "command" })
  if (columns.command?.[0] === "/bin/sh" && typeof input.command === "string" && input.args?.length)
    throw invalid(`args: only a command that is a list takes arguments; files are in ${RUN_FILES_FOLDER}`)
  return {
    columns: {
      ...columns,
      ...(await envColumns(needs.box, revisionId, input, before, call)),
      files_sha256,
      files_size_bytes: files?.sizeBytes ?? before?.files_size_bytes ?? 0,
    },
    files,
  }
}

/** Writes files and revision; the service's row is there already. */
export const writeRevision = async (
  { atRest }: DeploymentNeeds,
  call: Call,
  of: { readonly serviceId: string; readonly revisionId: string; readonly number: number },
  { columns, files }: Deployment,
): Promise<void> => {
  const store = serviceStore(call.db)
  const { id: organization_id } = call.organization
  const { serviceId: service_id, revisionId: revision_id, number } = of
  if (files) {
    const pack = await atRest.writeBytes(organization_id, filesContext(service_id, files.sha256), files.pack)
    await store.insertFiles({ organization_id, service_id, sha256: files.sha256, pack })
  }
  await store.insertRevision({
    ...columns,
    ...{ organization_id, service_id, revision_id, number },
    ...{ status: "DEPLOYING", status_reason: null, deployed_at: call.now },
  })
}
