/** A server on a fresh data folder, with things that the paths of the document can name. */
import { allOperations, isOurs, type Operation } from "@svc/contract"
import { createSvc, type OperationName } from "@svc/sdk"
import { renderOpenApi } from "../../packages/server/src/kernel/edges/openapi.ts"
import { startTestServer } from "../../packages/server/src/testing/database.ts"
import { everyScope, PASSWORD, platform } from "../../packages/server/src/testing/platform.ts"
import { watchedFetch } from "../../packages/server/src/testing/watch.ts"
import { refusalsOf, unreached } from "./exclusions.ts"
import { type ReachWorld, reachSample } from "./reach.ts"

export type Input = Readonly<Record<string, unknown>>

export interface SeededServer extends AsyncDisposable {
  readonly url: string
  readonly document: object
  /** A key of a tenant with every scope, and the cookie of its owner's session. */
  readonly key: string
  readonly otherKeys: OtherKeys
  readonly session: string
  /** By operationId, a valid input that names things which exist. */
  readonly inputs: ReadonlyMap<string, Input>
}

const TENANT = "acme"
const END_USER = "user@example.com"

const SHARED_HEADERS_AREA = "kv"

interface Parameter {
  readonly $ref?: string
  readonly name?: string
  example?: unknown
}

interface Rendered extends Record<string, unknown> {
  parameters?: Parameter[]
  readonly requestBody?: { readonly content: Record<string, { example?: unknown }> }
}

interface OpenApi {
  readonly paths: Record<string, Record<string, Rendered>>
  readonly components: {
    readonly parameters: Record<string, { schema: object }>
    readonly securitySchemes: Record<string, object>
  }
}

/** Keys of other callers, by the name of their security scheme in the document. */
type OtherKeys = Readonly<Record<AddedScheme | "publishableKey" | "endUserToken", string>>
/** Besides those of support's agents. */
const OF_OPERATOR: ReadonlySet<string> = new Set([
  "setOrganizationPlan",
  "confirmPayment",
  "grantCredit",
  "listGlitches",
  "listCancellationFeedback",
])

/** Schemes that the document does not have itself. */
type AddedScheme = "operatorKey" | "askerKey"

/** Who sends the operation, where it is not the tenant's own key or person. */
const otherCallerOf = ({ id }: Operation): AddedScheme | undefined => {
  if (OF_OPERATOR.has(id) || id.endsWith("AsAgent")) return "operatorKey"
  return id === "getApproval" || id === "cancelApproval" ? "askerKey" : undefined
}

const makeInputs = async (world: ReachWorld): Promise<Map<string, Input>> => {
  const inputs = new Map<string, Input>()
  for (const operation of allOperations.filter(isOurs)) {
    const sample = reachSample(operation.name as OperationName)
    if (sample && !(operation.id in unreached)) inputs.set(operation.id, await sample(world))
  }
  return inputs
}

/** What the sample says stands in the place of the declaration's example, which names things that nobody made. */
const exemplify = ({ body, bodyAs }: Operation, rendered: Rendered, input: Input) => {
  for (const parameter of rendered.parameters ?? []) {
    const value = parameter.name === undefined ? undefined : input[parameter.name]
    if (value !== undefined) parameter.example = value
  }
  const json = rendered.requestBody?.content["application/json"]
  if (!json) return
  const fields = Object.keys(body?.properties ?? {}).filter(name => name in input)
  json.example =
    bodyAs === undefined ? Object.fromEntries(fields.map(name => [name, input[name]])) : input[bodyAs]
}

/**
 * The document with samples as examples, and with the refusals of each operation's own. Project and Idempotency-Key stay at the operations of one area: the
 * same code reads them before all others, and most requests would be about them.
 */
const seededDocument = (baseUrl: string, projectId: string, inputs: ReadonlyMap<string, Input>): OpenApi => {
  const document = structuredClone(renderOpenApi(allOperations, { baseUrl })) as OpenApi
  for (const operation of allOperations.filter(isOurs)) {
    const rendered = document.paths[operation.path]?.[operation.method.toLowerCase()]
    if (!rendered) continue
    rendered["x-svc-refusals"] = refusalsOf(operation)
    const input = inputs.get(operation.id)
    if (input) exemplify(operation, rendered, input)
    const caller = otherCallerOf(operation)
    if (caller) rendered.security = [{ [caller]: [] }]
    if (operation.area !== SHARED_HEADERS_AREA)
      rendered.parameters = (rendered.parameters ?? []).filter(({ $ref }) => $ref === undefined)
  }
  const { Project } = document.components.parameters
  if (Project) Project.schema = { type: "string", enum: [projectId] }
  document.components.securitySchemes.operatorKey = { type: "http", scheme: "bearer" }
  document.components.securitySchemes.askerKey = { type: "http", scheme: "bearer" }
  return document
}

export const startSeededServer = async (): Promise<SeededServer> => {
  const opened = new AsyncDisposableStack()
  // A server that the platform starts for itself would keep this process from ending.
  const postgres = opened.use(await startTestServer())
  process.env.SVC_TEST_SERVER = postgres.url
  const server = await platform({ after: end => opened.defer(async () => void (await end())) })
  const headers = await server.session(TENANT)
  // The keys are nobody's: who is removed or limited by the run would take theirs along.
  const unowned = { created_by: null }
  const { id: keyId, secret: key } = await server.key(TENANT, everyScope, {
    organization_reach: true,
    ...unowned,
  })
  const asker = await server.key(TENANT, ["kv:write"], { require_approval: true, ...unowned })
  const operator = await server.key(TENANT, everyScope, {
    organization_id: server.firstRun?.organization_id ?? "",
    project_id: null,
    ...unowned,
  })
  const person = createSvc({ baseUrl: server.url, fetch: watchedFetch, retries: 0, headers })
  const wide = await server.wide(TENANT, ...everyScope)
  const { projectId, publishableKey } = await server.tenant(TENANT)
  const signedUp = await server.as(publishableKey).auth.signup({ email: END_USER, password: PASSWORD })
  const endUserToken = "access_token" in signedUp ? signedUp.access_token : ""
  const inputs = await makeInputs({
    platform: server,
    person,
    key: server.as(key),
    wide,
    tenant: TENANT,
    askerSecret: asker.secret,
    keyId,
    endUser: server.as(endUserToken),
  })
  const session = (headers.cookie ?? "").slice("svc_session=".length)
  return {
    url: server.url,
    document: seededDocument(server.url, projectId, inputs),
    key,
    otherKeys: { operatorKey: operator.secret, askerKey: asker.secret, publishableKey, endUserToken },
    session,
    inputs,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
