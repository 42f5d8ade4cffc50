/** Refusals as S3 words them: its codes and statuses (S3 API reference, "Error responses"). */
import { type FaultCode, type FaultParam, faults } from "@svc/contract"
import { isSigned } from "../../../core/keys/sigv4.ts"
import type { RenderError } from "../../../kernel/edges/reply.ts"
import { type Fault, fault } from "../../../kernel/fault.ts"
import { document, text } from "./xml.ts"

interface S3Refusal {
  readonly code: string
  readonly status: number
}

const as = (code: string, status: number): S3Refusal => ({ code, status })

/** What our refusals, by their public codes, are called there. Others go by their status. */
const byFault: { readonly [Code in FaultCode]?: S3Refusal } = {
  missing_credentials: as("AccessDenied", 403),
  cors_denied: as("AccessForbidden", 403),
  invalid_api_key: as("InvalidAccessKeyId", 403),
  api_key_revoked: as("InvalidAccessKeyId", 403),
  api_key_expired: as("ExpiredToken", 400),
  session_expired: as("AccessDenied", 403),
  signature_invalid: as("SignatureDoesNotMatch", 403),
  signature_malformed: as("AuthorizationHeaderMalformed", 400),
  signature_expired: as("AccessDenied", 403),
  request_time_skewed: as("RequestTimeTooSkewed", 403),
  uri_invalid: as("InvalidURI", 400),
  invalid_parameter: as("InvalidArgument", 400),
  invalid_name: as("InvalidBucketName", 400),
  plan_limit_reached: as("QuotaExceeded", 403),
  bucket_not_found: as("NoSuchBucket", 404),
  object_not_found: as("NoSuchKey", 404),
  upload_not_found: as("NoSuchUpload", 404),
  name_taken: as("BucketAlreadyOwnedByYou", 409),
  bucket_not_empty: as("BucketNotEmpty", 409),
  method_not_allowed: as("MethodNotAllowed", 405),
  conflict: as("ConditionalRequestConflict", 409),
  idempotency_key_in_use: as("OperationAborted", 409),
  precondition_failed: as("PreconditionFailed", 412),
  checksum_mismatch: as("BadDigest", 400),
  upload_part_invalid: as("InvalidPart", 400),
  upload_part_too_small: as("EntityTooSmall", 400),
  payload_too_large: as("EntityTooLarge", 400),
  range_not_satisfiable: as("InvalidRange", 416),
  request_timeout: as("RequestTimeout", 400),
  rate_limited: as("SlowDown", 503),
  not_implemented: as("NotImplemented", 501),
  service_unavailable: as("ServiceUnavailable", 503),
  internal_error: as("InternalError", 500),
}

const byStatus = (status: number): S3Refusal => {
  if (status === 404) return as("NoSuchKey", 404)
  if (status === 401 || status === 402 || status === 403) return as("AccessDenied", 403)
  return status >= 500 ? as("InternalError", status) : as("InvalidRequest", status)
}

/** Refusals that only S3 has, with the fault that they are for everybody else. */
const own = {
  AccessControlListNotSupported: { status: 400, base: "invalid_request" },
  AccessDenied: { status: 403, base: "bucket_access_denied" },
  BadDigest: { status: 400, base: "checksum_mismatch" },
  EntityTooLarge: { status: 400, base: "payload_too_large" },
  EntityTooSmall: { status: 400, base: "invalid_request" },
  IncompleteBody: { status: 400, base: "invalid_request" },
  InvalidArgument: { status: 400, base: "invalid_request" },
  InvalidDigest: { status: 400, base: "invalid_request" },
  InvalidPart: { status: 400, base: "invalid_request" },
  InvalidPartOrder: { status: 400, base: "invalid_request" },
  InvalidRequest: { status: 400, base: "invalid_request" },
  InvalidTag: { status: 400, base: "invalid_request" },
  InvalidStorageClass: { status: 400, base: "invalid_request" },
  KeyTooLongError: { status: 400, base: "invalid_request" },
  MalformedACLError: { status: 400, base: "invalid_request" },
  InvalidPolicyDocument: { status: 400, base: "invalid_request" },
  MalformedPOSTRequest: { status: 400, base: "invalid_request" },
  MalformedPolicy: { status: 400, base: "invalid_request" },
  MalformedTrailerError: { status: 400, base: "invalid_request" },
  MalformedXML: { status: 400, base: "invalid_request" },
  MaxMessageLengthExceeded: { status: 400, base: "invalid_request" },
  MethodNotAllowed: { status: 405, base: "object_not_found" },
  MaxPostPreDataLengthExceededError: { status: 400, base: "invalid_request" },
  MetadataTooLarge: { status: 400, base: "invalid_request" },
  MissingContentLength: { status: 411, base: "invalid_request" },
  XAmzContentSHA256Mismatch: { status: 400, base: "invalid_request" },
  NoSuchBucketPolicy: { status: 404, base: "resource_not_found" },
  NoSuchCORSConfiguration: { status: 404, base: "resource_not_found" },
  NoSuchLifecycleConfiguration: { status: 404, base: "resource_not_found" },
  NoSuchPublicAccessBlockConfiguration: { status: 404, base: "resource_not_found" },
  NoSuchTagSet: { status: 404, base: "resource_not_found" },
  NoSuchVersion: { status: 404, base: "object_not_found" },
  NoSuchWebsiteConfiguration: { status: 404, base: "resource_not_found" },
  ObjectLockConfigurationNotFoundError: { status: 404, base: "resource_not_found" },
  OwnershipControlsNotFoundError: { status: 404, base: "resource_not_found" },
  ReplicationConfigurationNotFoundError: { status: 404, base: "resource_not_found" },
  ServerSideEncryptionConfigurationNotFoundError: { status: 404, base: "resource_not_found" },
  NotImplemented: { status: 501, base: "not_implemented" },
} as const satisfies Record<string, { status: number; base: FaultCode }>

export type S3Code = keyof typeof own

/** A refusal that S3 has a code for and we do not. */
export const s3Fault = (
  code: S3Code,
  reason?: string,
  headers: Readonly<Record<string, string>> = {},
): Fault => {
  const { status, base } = own[code]
  const params: { [Name in FaultParam]?: string } = reason === undefined ? {} : { reason }
  return fault(base, params, { body: { s3: { code, status } }, headers })
}

const knownOf = (code: string, target: string): S3Refusal => {
  if (code === "signature_malformed" && isSigned(target, undefined))
    return as("AuthorizationQueryParametersError", 400)
  return byFault[code as FaultCode] ?? byStatus(statusOf(code))
}

/** A refusal in S3's XML. */
export const renderS3Error: RenderError = (refusal, request) => {
  const known = knownOf(refusal.code, request.url ?? "")
  const { code, status } = (refusal as { s3?: S3Refusal }).s3 ?? known
  const [path = ""] = (request.url ?? "").split("?", 1)
  return {
    type: "application/xml",
    headers: { "x-amz-request-id": refusal.request_id },
    status,
    text: document("Error", null, [
      text("Code", code),
      text("Message", refusal.error),
      text("Resource", path),
      text("RequestId", refusal.request_id),
    ]),
  }
}

const statusOf = (code: string): number =>
  Object.hasOwn(faults, code) ? faults[code as FaultCode].status : 500
