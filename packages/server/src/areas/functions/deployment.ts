import {
  type areas,
  FUNCTION_ENV_BYTES_MAX,
  FUNCTION_MEMORY_MB_DEFAULT,
  FUNCTION_TIMEOUT_SECONDS_DEFAULT,
  FUNCTION_VCPUS_DEFAULT,
  type Input,
} from "@svc/contract"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Offer } from "../../kernel/offer.ts"
import { requireScope } from "../../kernel/scopes.ts"
import type { Images } from "../../services/images/images.ts"
import type { ObjectReader } from "../storage/offers.ts"
import {
  type Code,
  type CodeFile,
  fromBase64Module,
  fromBase64Zip,
  fromFiles,
  fromZip,
  fromZipOrModule,
  packCode,
} from "./code.ts"
import { checkDependencies } from "./dependencies.ts"
import { codeContext, envContext } from "./invoker.ts"
import type { LanguageRuntime, Runtimes } from "./runtimes.ts"
import { type DeployedRow, functionStore } from "./store.ts"

export type DeployInput = Omit<Input<(typeof areas.functions.specs)["update"]>, "id">

export interface DeploymentNeeds {
  readonly box: SecretBox
  readonly atRest: AtRest
  readonly objects: Offer<ObjectReader>
  readonly runtimes: Runtimes
  readonly images: Pick<Images, "check">
}

const ZIP_BYTES_MAX = 64 * 2 ** 20

const readObject = async (
  objects: Offer<ObjectReader>,
  { bucket, key }: { bucket: string; key: string },
  call: Call,
): Promise<Buffer> => {
  requireScope(call, "storage:read")
  const reader = await objects.get()
  if (!reader) throw fault("not_implemented", { reason: "the storage area does not run here" })
  const body = await reader.read(call.project?.id ?? "", bucket, key)
  if (!body) throw fault("object_not_found", { key })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > ZIP_BYTES_MAX)
      throw fault("invalid_function_code", { reason: `the archive has more than ${ZIP_BYTES_MAX} bytes` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const SOURCES = ["code", "code_zip", "files", "storage"] as const

const readFiles = async (
  { objects }: DeploymentNeeds,
  input: DeployInput,
  language: LanguageRuntime,
  call: Call,
): Promise<CodeFile[] | undefined> => {
  const given = SOURCES.filter(source => input[source] !== undefined)
  if (given.length > 1) throw fault("invalid_function_code", { reason: `send one of ${given.join(" and ")}` })
  const { mainFile, isBinary } = language
  if (input.code !== undefined)
    return isBinary ? fromBase64Module(mainFile, input.code) : fromFiles({ [mainFile]: input.code })
  if (input.code_zip !== undefined) return fromBase64Zip(input.code_zip)
  if (input.files !== undefined) return fromFiles(input.files)
  if (input.storage !== undefined) {
    const bytes = await readObject(objects, input.storage, call)
    return isBinary ? fromZipOrModule(mainFile, bytes) : fromZip(bytes)
  }
  return undefined
}

/** What a function from an image has in place of code: a file that names it. */
const imageFiles = async (
  { images }: DeploymentNeeds,
  input: DeployInput,
  { mainFile }: LanguageRuntime,
): Promise<CodeFile[] | undefined> => {
  const surplus = SOURCES.find(source => input[source] !== undefined)
  if (surplus) throw fault("invalid_parameter", { reason: `${surplus}: a container's code is its image` })
  if (input.image === undefined) return undefined
  images.check(input.image)
  return fromFiles({ [mainFile]: input.image })
}

const sealEnv = async (
  box: SecretBox,
  functionId: string,
  env: Readonly<Record<string, string>>,
  call: Call,
): Promise<{ env: string | null; env_names: string[] }> => {
  const names = Object.keys(env).sort()
  const bytes = Object.entries(env).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  )
  if (bytes > FUNCTION_ENV_BYTES_MAX)
    throw fault("invalid_parameter", { reason: `env: more than ${FUNCTION_ENV_BYTES_MAX} bytes` })
  if (Object.values(env).some(value => value.includes("\0")))
    throw fault("invalid_parameter", { reason: "env: values cannot hold null characters" })
  if (names.length === 0) return { env: null, env_names: [] }
  const sealed = await box.seal(call.organization.id, envContext(functionId), JSON.stringify(env))
  return { env: sealed, env_names: names }
}

/** The columns of the next version: what is given, else what the one before has, else the defaults. */
const configColumns = async (
  { box }: DeploymentNeeds,
  functionId: string,
  input: DeployInput,
  before: DeployedRow | undefined,
  call: Call,
) => ({
  ...(input.env || !before
    ? await sealEnv(box, functionId, input.env ?? {}, call)
    : { env: before.env, env_names: before.env_names }),
  runtime: input.runtime ?? before?.runtime ?? "nodejs",
  handler: input.handler ?? before?.handler ?? "index.handler",
  memory_mb: input.memory_mb ?? before?.memory_mb ?? FUNCTION_MEMORY_MB_DEFAULT,
  timeout_seconds: input.timeout_seconds ?? before?.timeout_seconds ?? FUNCTION_TIMEOUT_SECONDS_DEFAULT,
  vcpus: input.vcpus ?? before?.vcpus ?? FUNCTION_VCPUS_DEFAULT,
  concurrency: input.concurrency ?? before?.concurrency ?? 1,
  min_instances: input.min_instances ?? before?.min_instances ?? 0,
  image: input.image ?? before?.image ?? null,
  // Named again it is asked for again, whatever it stood for before.
  image_digest: input.image === undefined ? (before?.image_digest ?? null) : null,
})

/** Texts are kept in columns that hold neither. */
const checkTexts = ({ name, runtime, description, labels = {} }: DeployInput) => {
  const texts = [name, runtime, description, ...Object.entries(labels).flat()]
  if (texts.some(text => text !== undefined && (text.includes("\0") || !text.isWellFormed())))
    throw fault("invalid_parameter", { reason: "names and labels cannot hold null characters" })
}

export interface Deployment {
  /** Undefined: the code stays. */
  readonly code: Code | undefined
  readonly columns: Awaited<ReturnType<typeof configColumns>>
  readonly language: LanguageRuntime
}

/** Reads and checks what is to be deployed, before anything is written. */
export const readDeployment = async (
  needs: DeploymentNeeds,
  functionId: string,
  input: DeployInput,
  before: DeployedRow | undefined,
  call: Call,
): Promise<Deployment> => {
  checkTexts(input)
  const columns = await configColumns(needs, functionId, input, before, call)
  const language = await needs.runtimes.find(columns.runtime)
  if (columns.concurrency > language.concurrencyMax)
    throw fault("invalid_parameter", {
      reason: `concurrency: an instance of the runtime ${language.name} runs one invocation at a time`,
    })
  const isContainer = language.name === "container"
  if (!isContainer && input.image !== undefined)
    throw fault("invalid_parameter", { reason: "image: only the runtime container starts from one" })
  const files = await (isContainer ? imageFiles : readFiles)(needs, input, language, call)
  const isAlike = before && isContainer === (before.image !== null)
  if (!files && !isAlike) throw fault("missing_parameter", { field: isContainer ? "image" : "code" })
  const own = isContainer ? columns : { ...columns, image: null, image_digest: null }
  if (files) checkDependencies(language.name, files)
  return { code: files && (await packCode(files)), columns: own, language }
}

/** Writes code and version; the function's row names it afterwards. */
export const writeVersion = async (
  { atRest }: DeploymentNeeds,
  call: Call,
  functionId: string,
  version: number,
  { code, columns }: Deployment,
  before: DeployedRow | undefined,
): Promise<void> => {
  const store = functionStore(call.db)
  if (code) {
    const { id } = call.organization
    const pack = await atRest.writeBytes(id, codeContext(code.sha256), code.pack)
    await store.insertCode(id, { ...code, pack }, call.now)
  }
  await store.insertVersion({
    ...columns,
    ...{ organization_id: call.organization.id, function_id: functionId, version },
    code_sha256: code?.sha256 ?? before?.code_sha256 ?? "",
    created_at: call.now,
  })
}
