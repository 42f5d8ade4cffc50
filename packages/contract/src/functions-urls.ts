/** Functions by URL: any method and path, with a key, or without one where the function is public. */
import { ANY_TYPE, type OperationSpec, T } from "./dsl.ts"
import { FUNCTION_PAYLOAD_BYTES_MAX, FunctionRef } from "./functions-fields.ts"
import { Id } from "./types.ts"

const Path = T.String({ maxLength: 4096, description: "Path that the function is given" })
const Keyed = T.Object({ id: FunctionRef, path: Path })
const Public = T.Object({ id: Id, path: Path })
const Query = T.Object({}, { additionalProperties: true })

const shared = {
  extension: true,
  rest: true,
  query: Query,
  bodyBytesMax: FUNCTION_PAYLOAD_BYTES_MAX,
  /** The function chooses the status. */
  replies: { 200: T.Unknown(), 204: null },
  description:
    "The response has the status, headers and body of the function. Cookies and the key are not passed on; a page runs " +
    "in an origin of its own, without access to the session.",
} as const

const FAULTS = [
  "function_not_found",
  "function_payload_too_large",
  "function_failed",
  "function_timed_out",
  "function_throttled",
  "no_host_capacity",
  "not_implemented",
] as const

const read = { effect: "read", content: { reply: "bytes", replyTypes: ANY_TYPE } } as const
const write = {
  effect: "write",
  audit: "rollup",
  content: { request: "bytes", requestTypes: ANY_TYPE, reply: "bytes", replyTypes: ANY_TYPE },
} as const

const keyed = { ...shared, params: Keyed, scope: "functions:invoke", faults: FAULTS } as const
const open = {
  ...shared,
  params: Public,
  scope: "public",
  project: "none",
  crossOrigin: true,
  faults: FAULTS,
} as const

export const functionUrlOperations = {
  httpGet: {
    ...keyed,
    ...read,
    effect: "write",
    audit: "rollup",
    idempotency: "natural",
    id: "requestFunctionGet",
    http: "GET /v1/functions/{id}/http/{path}",
    summary: "GET a function's URL",
    description: `${shared.description} It runs the function's code, so a read-only key may not call it.`,
  },
  httpPost: {
    ...keyed,
    ...write,
    id: "requestFunctionPost",
    http: "POST /v1/functions/{id}/http/{path}",
    summary: "POST to a function's URL",
  },
  httpPut: {
    ...keyed,
    ...write,
    id: "requestFunctionPut",
    http: "PUT /v1/functions/{id}/http/{path}",
    summary: "PUT to a function's URL",
  },
  httpPatch: {
    ...keyed,
    ...write,
    id: "requestFunctionPatch",
    http: "PATCH /v1/functions/{id}/http/{path}",
    summary: "PATCH a function's URL",
  },
  httpDelete: {
    ...keyed,
    ...write,
    id: "requestFunctionDelete",
    http: "DELETE /v1/functions/{id}/http/{path}",
    summary: "DELETE a function's URL",
  },
  publicGet: {
    ...open,
    ...read,
    id: "requestPublicFunctionGet",
    http: "GET /v1/functions/public/{id}/{path}",
    summary: "GET a public function's URL",
  },
  publicPost: {
    ...open,
    ...write,
    id: "requestPublicFunctionPost",
    http: "POST /v1/functions/public/{id}/{path}",
    summary: "POST to a public function's URL",
  },
  publicPut: {
    ...open,
    ...write,
    id: "requestPublicFunctionPut",
    http: "PUT /v1/functions/public/{id}/{path}",
    summary: "PUT to a public function's URL",
  },
  publicPatch: {
    ...open,
    ...write,
    id: "requestPublicFunctionPatch",
    http: "PATCH /v1/functions/public/{id}/{path}",
    summary: "PATCH a public function's URL",
  },
  publicDelete: {
    ...open,
    ...write,
    id: "requestPublicFunctionDelete",
    http: "DELETE /v1/functions/public/{id}/{path}",
    summary: "DELETE a public function's URL",
  },
} as const satisfies Record<string, OperationSpec>
