import type { FunctionLogStream, FunctionStatus, FunctionTrigger, InvocationStatus } from "@svc/contract"
import { parseJson } from "../../kernel/exact-json.ts"
import { toIso } from "../../kernel/to-iso.ts"
import type { FunctionError } from "./frames.ts"
import type { InvocationRow, LogRow } from "./invocation-store.ts"
import type { DeployedRow, VersionRow } from "./store.ts"

type Configured = Pick<
  VersionRow,
  | ("version" | "runtime" | "handler" | "code_sha256" | "memory_mb" | "timeout_seconds" | "vcpus")
  | ("env_names" | "concurrency" | "min_instances" | "image" | "image_digest")
> & { readonly size_bytes: number }

const configOf = (row: Configured, runtimeVersion: string) => ({
  version: row.version,
  runtime: row.runtime,
  runtime_version: runtimeVersion,
  handler: row.handler,
  code_sha256: row.code_sha256,
  code_size_bytes: row.size_bytes,
  memory_mb: row.memory_mb,
  timeout_seconds: row.timeout_seconds,
  vcpus: row.vcpus,
  env_names: row.env_names,
  concurrency: row.concurrency,
  min_instances: row.min_instances,
  image: row.image,
  image_digest: row.image_digest,
})

/** What is true of all functions of this installation. */
export interface Installation {
  readonly baseUrl: string
  readonly isolation: string
  readonly network: "none" | "public"
}

const urlOf = ({ id, is_public }: DeployedRow, baseUrl: string): string =>
  is_public ? `${baseUrl}/v1/functions/public/${id}/` : `${baseUrl}/v1/functions/${id}/http/`

export const toFunction = (row: DeployedRow, runtimeVersion: string, installation: Installation) => ({
  id: row.id,
  name: row.name,
  project_id: row.project_id,
  description: row.description,
  labels: row.labels as Record<string, string>,
  status: row.status as FunctionStatus,
  status_reason: row.status_reason,
  ...configOf(row, runtimeVersion),
  public: row.is_public,
  url: urlOf(row, installation.baseUrl),
  isolation: installation.isolation,
  network: installation.network,
  invocation_count: row.invocation_count,
  last_invoked_at: toIso(row.last_invoked_at),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const toVersion = (
  row: VersionRow & { readonly size_bytes: number },
  runtimeVersion: string,
  active: number,
) => ({
  ...configOf(row, runtimeVersion),
  active: row.version === active,
  created_at: row.created_at.toISOString(),
})

export const toInvocation = (row: InvocationRow) => ({
  id: row.id,
  function_id: row.function_id,
  function_version: row.function_version,
  trigger: row.trigger as FunctionTrigger,
  mode: row.mode as "sync" | "async",
  status: row.status as InvocationStatus,
  status_code: row.status_code,
  attempt: row.attempt,
  created_at: row.created_at.toISOString(),
  started_at: toIso(row.started_at),
  ended_at: toIso(row.ended_at),
  queue_ms: row.queue_ms,
  init_duration_ms: row.init_duration_ms,
  duration_ms: row.duration_ms,
  billed_duration_ms: row.duration_ms === null ? null : Math.ceil(row.duration_ms),
  memory_mb: row.memory_mb,
  max_memory_used_mb: row.max_memory_used_mb,
  cold_start: row.cold_start,
  payload_bytes: row.payload_bytes,
  response_bytes: row.response_bytes,
  result: row.result === null ? null : parseJson(row.result),
  error: row.error as FunctionError | null,
  request_id: row.request_id,
})

export const toLine = (row: LogRow) => ({
  timestamp: row.at.toISOString(),
  stream: row.stream as FunctionLogStream,
  message: row.message,
  invocation_id: row.invocation_id,
})
