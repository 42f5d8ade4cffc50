/** CORS of a bucket: its rules in XML, what replies tell browsers, and preflights. */
import type { Reply } from "@svc/contract"
import type { AccountCall } from "../../../kernel/call.ts"
import type { Db } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import type { BucketSettings } from "../object-store.ts"
import {
  CORS_METHODS,
  CORS_RULES_MAX,
  type CorsMethod,
  type CorsRule,
  corsHeaders,
  corsProblem,
} from "../rules/cors.ts"
import { corsOfName } from "../store/bucket-settings.ts"
import { readBody } from "./body.ts"
import { s3Fault } from "./errors.ts"
import { type S3Handler, xml } from "./request.ts"
import { element, optional, text } from "./xml.ts"
import { childrenOf, parseXml, textOf, textsOf } from "./xml-body.ts"

type Node = Parameters<typeof textOf>[0]

const readSeconds = (given: string | undefined): number | undefined => {
  if (given === undefined) return undefined
  if (!/^\d{1,9}$/.test(given.trim())) throw s3Fault("MalformedXML", "MaxAgeSeconds is a whole number")
  return Number(given)
}

const readRule = (rule: Node): CorsRule => {
  const methods = textsOf(rule, "AllowedMethod")
  const unknown = methods.find(method => !CORS_METHODS.some(known => known === method))
  if (unknown !== undefined) throw s3Fault("InvalidRequest", `${unknown} is no method of a CORS rule`)
  const id = textOf(rule, "ID")
  const maxAge = readSeconds(textOf(rule, "MaxAgeSeconds"))
  const headers = textsOf(rule, "AllowedHeader")
  const exposed = textsOf(rule, "ExposeHeader")
  return {
    ...(id !== undefined && { id }),
    allowed_origins: textsOf(rule, "AllowedOrigin"),
    allowed_methods: methods as CorsMethod[],
    ...(headers.length > 0 && { allowed_headers: headers }),
    ...(exposed.length > 0 && { expose_headers: exposed }),
    ...(maxAge !== undefined && { max_age_seconds: maxAge }),
  }
}

export const putCors: S3Handler = async ({ call, store, place, bucket }) => {
  const root = await parseXml(await readBody(call), "CORSConfiguration")
  const rules = childrenOf(root, "CORSRule").map(readRule)
  const isMany = rules.length === 0 || rules.length > CORS_RULES_MAX
  const problem = isMany ? `there are 1 to ${CORS_RULES_MAX} rules` : corsProblem(rules)
  if (problem !== undefined) throw s3Fault("MalformedXML", problem)
  await store.setSettings(place, bucket, { cors: rules }, "s3:PutBucketCORS")
  return { status: 200, body: undefined }
}

export const getCors: S3Handler = async ({ store, place, bucket }) => {
  const { cors } = await store.findSettings(place, bucket, "s3:GetBucketCORS")
  if (!cors) throw s3Fault("NoSuchCORSConfiguration")
  const all = (name: string, values: readonly string[] = []) => values.map(value => text(name, value))
  return xml(
    "CORSConfiguration",
    cors.map(rule =>
      element("CORSRule", [
        optional("ID", rule.id),
        ...all("AllowedMethod", rule.allowed_methods),
        ...all("AllowedOrigin", rule.allowed_origins),
        ...all("AllowedHeader", rule.allowed_headers),
        ...all("ExposeHeader", rule.expose_headers),
        optional("MaxAgeSeconds", rule.max_age_seconds),
      ]),
    ),
  )
}

export const deleteCors: S3Handler = async ({ store, place, bucket }) => {
  await store.setSettings(place, bucket, { cors: null }, "s3:PutBucketCORS")
  return { status: 204, body: undefined }
}

/** No origin at all: the edge says nothing of any. */
const NOBODY = { "access-control-allow-origin": "" }

/** What the reply to a page says; without rules of its own, a bucket is open to every origin, which its signature protects. */
export const replyHeaders = (
  { cors }: BucketSettings,
  { header, operation }: Pick<AccountCall, "header" | "operation">,
): Readonly<Record<string, string>> => {
  if (!cors) return {}
  const origin = header("origin")
  // The method that a page names itself counts only in a preflight.
  const { method } = operation
  return (origin === undefined ? undefined : corsHeaders(cors, { origin, method, headers: [] })) ?? NOBODY
}

const listOf = (header: string | undefined): string[] =>
  (header ?? "")
    .split(",")
    .map(name => name.trim())
    .filter(name => name !== "")

const ANY_ORIGIN = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "DELETE, GET, HEAD, POST, PUT",
  // `*` does not cover Authorization (Fetch standard, CORS-safelisting).
  "access-control-allow-headers": "*, authorization",
  "access-control-max-age": "600",
}

/**
 * It has neither credentials nor a project, so it is answered for all buckets of that name: the reply to the request
 * itself says what its own bucket says.
 */
export const answerPreflight = async (
  db: Db,
  bucket: string,
  { header }: Pick<AccountCall, "header">,
): Promise<Reply> => {
  const origin = header("origin")
  const method = header("access-control-request-method")
  if (origin === undefined || method === undefined)
    throw s3Fault("InvalidRequest", "a preflight has the headers Origin and Access-Control-Request-Method")
  const rules = await corsOfName(db, bucket)
  if (rules.length === 0) return { status: 204, body: undefined, headers: ANY_ORIGIN }
  const headers = listOf(header("access-control-request-headers"))
  const allowed = rules.map(one => corsHeaders(one, { origin, method, headers })).find(one => one)
  if (!allowed) throw fault("cors_denied", undefined, { headers: NOBODY })
  return { status: 200, body: undefined, headers: allowed }
}
