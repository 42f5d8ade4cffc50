/** The OpenAPI 3.1 description of the interface, rendered from the declarations. */
import {
  API_VERSION,
  type Area,
  allAreas,
  faultCodes,
  faultExample,
  faultSpec,
  isOurs,
  isScoped,
  type Operation,
  PendingApproval,
  type Scope,
  statusPhrases,
  wireCode,
} from "@svc/contract"
import { close } from "../validation.ts"
import { createLinks } from "./openapi/links.ts"
import { renderParameters, renderRequestBody, sharedParameters } from "./openapi/parameters.ts"
import {
  errorSchemas,
  type ReplyCaches,
  refusalsOf,
  renderReplies,
  type SharedRefusals,
  sharedHeaders,
  transportOf,
} from "./openapi/replies.ts"
import {
  createSchemaCache,
  type JsonSchema,
  pascalCase,
  type SchemaCache,
  type SchemaUse,
} from "./openapi/schemas.ts"

export { impliedStatuses } from "@svc/contract"

const DESCRIPTION = `One HTTP and JSON API for a whole cloud, and one bearer key for all of it.

Send the key as \`Authorization: Bearer svc_…\`. A reply is \`{data, request_id}\`, a list adds \`total\`, \`limit\` and
\`offset\`; a refusal is \`{code, error, docs_url, request_id}\`, and its \`docs_url\` says what to do. Every reply has the
header \`x-request-id\`. Fields that an operation does not declare are refused. Numbers in values of your own come back digit
by digit.`

const securitySchemes = {
  bearerKey: {
    type: "http",
    scheme: "bearer",
    description:
      "A key of the platform: `svc_sk_`, `svc_sa_`, `svc_at_`, `svc_pat_` or `svc_oat_`. The names listed with an operation are scopes the key must hold.",
  },
  consoleSession: {
    type: "apiKey",
    in: "cookie",
    name: "svc_session",
    description:
      "The session of a signed-in person, `__Host-svc_session` over HTTPS. Accepted only with an `Origin` header that names the platform's own address.",
  },
  publishableKey: {
    type: "http",
    scheme: "bearer",
    description:
      "A `svc_pk_` key, which names a project to the public routes of end-user auth and is no secret.",
  },
  endUserToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "The access token of a signed-in user of an application, from a sign-in of `/v1/auth`. No other operation accepts it.",
  },
} as const

const scopesOf = (operation: Operation): readonly Scope[] =>
  isScoped(operation) ? ([operation.scope].flat() as Scope[]) : []

/** Each entry is one way in. */
const securityOf = (operation: Operation): object[] => {
  if (operation.scope === "public") return []
  if (operation.scope === "publishable") return [{ publishableKey: [] }]
  if (operation.scope === "end-user") return [{ endUserToken: [] }]
  const session = { consoleSession: [] }
  if (operation.scope === "session") return [session]
  if (operation.scope === "any") return [{ bearerKey: [] }, session]
  return [...scopesOf(operation).map(scope => ({ bearerKey: [scope] })), session]
}

/** What operations share in the document. */
interface Caches extends ReplyCaches {
  readonly bodies: SchemaCache
}

const areaOf = ({ area }: Operation): Area | undefined => allAreas.find(({ name }) => name === area)

const titleOf = (operation: Operation): string => areaOf(operation)?.title ?? operation.area

const renderOperation = (operation: Operation, caches: Caches): JsonSchema => {
  const parameters = renderParameters(operation)
  const requestBody = renderRequestBody(operation, caches.bodies)
  const scopes = scopesOf(operation)
  return {
    operationId: operation.id,
    tags: [titleOf(operation)],
    summary: operation.summary,
    ...(operation.description && { description: operation.description }),
    security: securityOf(operation),
    ...(scopes.length > 0 && { "x-svc-scopes": scopes }),
    ...(operation.aliases && { "x-svc-aliases": operation.aliases }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: renderReplies(operation, caches),
  }
}

const GETTER = /^get(?=[A-Z])/
const WRITER = /^(?:create|update|set|add)(?=[A-Z])/

/** `getKey` answers a `Key`; what no operation gets or makes is named by the operation that answers it. */
const replyNames = ({ id }: Operation): string[] => {
  const noun = id.replace(GETTER, "").replace(WRITER, "")
  return noun === id ? [`${pascalCase(id)}Reply`] : [pascalCase(noun), `${pascalCase(id)}Reply`]
}

const replyUses = (operations: readonly Operation[]): SchemaUse[] => {
  const rank = ({ id }: Operation) => (GETTER.test(id) ? 0 : WRITER.test(id) ? 1 : 2)
  const ranked = [...operations].sort((a, b) => rank(a) - rank(b))
  const waiting = operations.filter(({ risk }) => risk === "high")
  return [
    ...ranked.flatMap(operation =>
      Object.values(operation.replies).map(schema => ({ schema, names: replyNames(operation) })),
    ),
    ...waiting.map(() => ({ schema: PendingApproval, names: ["PendingApproval"] })),
  ]
}

const bodyUses = (operations: readonly Operation[]): SchemaUse[] =>
  operations.map(({ id, body }) => ({ schema: body, names: [`${pascalCase(id)}Body`] }))

/** One example for each code that some operation can answer; where texts share a code, that of its namesake. */
const renderExamples = (operations: readonly Operation[], baseUrl: string): JsonSchema => {
  const answered = new Set(
    [...operations.flatMap(refusalsOf), ...operations.flatMap(transportOf)].map(wireCode),
  )
  const codes = faultCodes.filter(code => answered.has(code))
  return Object.fromEntries(
    codes.map(code => [
      code,
      { summary: `${code} (${statusPhrases[faultSpec(code).status]})`, value: faultExample(code, baseUrl) },
    ]),
  )
}

const renderPaths = (operations: readonly Operation[], caches: Caches): JsonSchema => {
  const byPath = Map.groupBy(operations, ({ path }) => path)
  return Object.fromEntries(
    [...byPath].map(([path, methods]) => [
      path,
      Object.fromEntries(
        methods.map(operation => [operation.method.toLowerCase(), renderOperation(operation, caches)]),
      ),
    ]),
  )
}

export interface OpenApiOptions {
  /** Where this installation is reached. */
  readonly baseUrl: string
}

/** The OpenAPI 3.1.0 document of these operations, as a value to be written as JSON. */
export const renderOpenApi = (declared: readonly Operation[], { baseUrl }: OpenApiOptions): object => {
  const operations = declared.filter(isOurs)
  const replies = createSchemaCache(replyUses(operations))
  const bodies = createSchemaCache(bodyUses(operations), schema => close(schema) as JsonSchema)
  const refusals: SharedRefusals = {}
  const paths = renderPaths(operations, { replies, bodies, refusals, links: createLinks(operations) })
  const tags = new Map(operations.map(operation => [titleOf(operation), areaOf(operation)?.summary]))
  return {
    openapi: "3.1.0",
    info: { title: "Svc", version: API_VERSION, description: DESCRIPTION },
    servers: [{ url: baseUrl }],
    tags: [...tags].map(([name, description]) => ({ name, ...(description && { description }) })),
    paths,
    components: {
      schemas: { ...errorSchemas, ...replies.components, ...bodies.components },
      responses: refusals,
      parameters: sharedParameters,
      headers: sharedHeaders,
      examples: renderExamples(operations, baseUrl),
      securitySchemes,
    },
  }
}
