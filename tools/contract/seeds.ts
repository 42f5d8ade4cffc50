/** A server on a fresh data folder, with things that the paths of the document can name. */
import { allOperations, isOurs } from "@svc/contract"
import { createSvc, type OperationName } from "@svc/sdk"
import { renderOpenApi } from "../../packages/server/src/kernel/edges/openapi.ts"
import { startTestServer } from "../../packages/server/src/testing/database.ts"
import { everyScope, platform } from "../../packages/server/src/testing/platform.ts"
import type { SampleWorld } from "../../packages/server/src/testing/sample-world.ts"
import { samples } from "../../packages/server/src/testing/samples.ts"
import { watchedFetch } from "../../packages/server/src/testing/watch.ts"
import { refusalsOf } from "./exclusions.ts"

export type Input = Readonly<Record<string, unknown>>

export interface SeededServer extends AsyncDisposable {
  readonly url: string
  readonly document: object
  /** A key of a tenant with every scope, and the cookie of its owner's session. */
  readonly key: string
  readonly session: string
  /** By operationId, a valid input that names things which exist. */
  readonly inputs: ReadonlyMap<string, Input>
}

const TENANT = "acme"

const SHARED_HEADERS_AREA = "kv"

interface Rendered extends Record<string, unknown> {
  parameters?: { readonly $ref?: string }[]
}

interface OpenApi {
  readonly paths: Record<string, Record<string, Rendered>>
  readonly components: { readonly parameters: Record<string, { schema: object }> }
}

const makeInputs = async (world: SampleWorld): Promise<Map<string, Input>> => {
  const inputs = new Map<string, Input>()
  for (const operation of allOperations.filter(isOurs)) {
    const sample = samples[operation.name as OperationName]
    if (sample) inputs.set(operation.id, await sample(world))
  }
  return inputs
}

/**
 * The document with the refusals of each operation's own. Project and Idempotency-Key stay at the operations of one area: the
 * same code reads them before all others, and most requests would be about them.
 */
const seededDocument = (baseUrl: string, projectId: string): OpenApi => {
  const document = structuredClone(renderOpenApi(allOperations, { baseUrl })) as OpenApi
  for (const operation of allOperations.filter(isOurs)) {
    const rendered = document.paths[operation.path]?.[operation.method.toLowerCase()]
    if (!rendered) continue
    rendered["x-svc-refusals"] = refusalsOf(operation)
    if (operation.area !== SHARED_HEADERS_AREA)
      rendered.parameters = (rendered.parameters ?? []).filter(({ $ref }) => $ref === undefined)
  }
  const { Project } = document.components.parameters
  if (Project) Project.schema = { type: "string", enum: [projectId] }
  return document
}

export const startSeededServer = async (): Promise<SeededServer> => {
  const opened = new AsyncDisposableStack()
  // A server that the platform starts for itself would keep this process from ending.
  const postgres = opened.use(await startTestServer())
  process.env.SVC_TEST_SERVER = postgres.url
  const server = await platform({ after: end => opened.defer(async () => void (await end())) })
  const headers = await server.session(TENANT)
  const { secret: key } = await server.key(TENANT, everyScope, { organization_reach: true })
  const person = createSvc({ baseUrl: server.url, fetch: watchedFetch, retries: 0, headers })
  const wide = await server.wide(TENANT, ...everyScope)
  const inputs = await makeInputs({ platform: server, person, key: server.as(key), wide, tenant: TENANT })
  const { projectId } = await server.tenant(TENANT)
  const session = (headers.cookie ?? "").slice("svc_session=".length)
  return {
    url: server.url,
    document: seededDocument(server.url, projectId),
    key,
    session,
    inputs,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
