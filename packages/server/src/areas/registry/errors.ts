/** Refusals as the OCI distribution specification words them ("Error codes"). */
import type { FaultCode } from "@svc/contract"
import { faults } from "@svc/contract"
import type { RenderError } from "../../kernel/edges/reply.ts"

/** What our refusals are called there. Others go by their status. */
const byFault: { readonly [Code in FaultCode]?: string } = {
  repository_not_found: "NAME_UNKNOWN",
  repository_name_invalid: "NAME_INVALID",
  blob_not_found: "BLOB_UNKNOWN",
  image_upload_not_found: "BLOB_UPLOAD_UNKNOWN",
  upload_range_invalid: "BLOB_UPLOAD_INVALID",
  conflict: "BLOB_UPLOAD_INVALID",
  digest_invalid: "DIGEST_INVALID",
  digest_mismatch: "DIGEST_INVALID",
  manifest_not_found: "MANIFEST_UNKNOWN",
  manifest_invalid: "MANIFEST_INVALID",
  manifest_blob_unknown: "MANIFEST_BLOB_UNKNOWN",
  payload_too_large: "SIZE_INVALID",
}

const byStatus = (status: number): string => {
  if (status === 401) return "UNAUTHORIZED"
  if (status === 404) return "NAME_UNKNOWN"
  if (status === 429) return "TOOMANYREQUESTS"
  if (status >= 500) return status === 503 ? "UNAVAILABLE" : "UNKNOWN"
  return status === 402 || status === 403 || status === 409 ? "DENIED" : "UNSUPPORTED"
}

const statusOf = (code: string): number =>
  Object.hasOwn(faults, code) ? faults[code as FaultCode].status : 500

/** Clients of registries sign in with a name and a password when they are asked to, and the key is the password. */
const CHALLENGE = { "www-authenticate": 'Basic realm="Svc registry", charset="UTF-8"' } as const

/** Our own fields are its detail. */
export const renderOciError: RenderError = refusal => {
  const { error: message, ...detail } = refusal
  const code = byFault[refusal.code as FaultCode] ?? byStatus(statusOf(refusal.code))
  return {
    type: "application/json",
    headers: code === "UNAUTHORIZED" ? CHALLENGE : {},
    text: JSON.stringify({ errors: [{ code, message, detail }] }),
  }
}
