import type { OperationName } from "@svc/sdk"
import { newId } from "../../../kernel/id.ts"
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample, SampleWorld, Unsampled } from "../../../testing/sample-world.ts"
import { invocationStore } from "../invocation-store.ts"

const CODE = "export const handler = async event => ({ event })"

const newFunction = async ({ key }: SampleWorld) =>
  (await key.functions.create({ name: uniqueName(), runtime: "nodejs", code: CODE })).id

/** One function a world serves all that neither change nor remove it. */
const functions = new WeakMap<SampleWorld, Promise<string>>()

const sharedFunction = (world: SampleWorld): Promise<string> => {
  const known = functions.get(world) ?? newFunction(world)
  functions.set(world, known)
  return known
}

const newInvocation = async (world: SampleWorld) => {
  const id = await sharedFunction(world)
  const { invocation_id } = await world.key.functions.invoke({ id, payload: {} })
  return { id, invocation_id }
}

/** One that has failed for good; three attempts would take minutes of the clock that all samples share. */
const deadInvocation = async (world: SampleWorld) => {
  const id = await sharedFunction(world)
  const { organizationId } = await world.platform.tenant(world.tenant)
  const store = invocationStore(world.platform.database.db)
  const invocation_id = newId()
  await store.insert({
    ...{ id: invocation_id, organization_id: organizationId, function_id: id, function_version: 1 },
    ...{ trigger: "invoke", mode: "async", status: "error", attempt: 3, memory_mb: 128 },
    ...{ created_at: new Date(world.platform.clock.now()), payload_bytes: 2 },
  })
  await store.insertPayload(invocation_id, "{}")
  return { id, invocation_id }
}

const request = async (world: SampleWorld) => ({ id: await sharedFunction(world), path: "hello" })

export const samples: { readonly [Name in OperationName]?: Sample } = {
  "functions.create": async () => ({ name: uniqueName(), runtime: "nodejs", code: CODE }),
  "functions.get": async world => ({ id: await sharedFunction(world) }),
  "functions.update": async world => ({ id: await newFunction(world), memory_mb: 256 }),
  "functions.delete": async world => ({ id: await newFunction(world) }),
  "functions.versions": async world => ({ id: await sharedFunction(world) }),
  "functions.invoke": async world => ({ id: await sharedFunction(world), payload: { name: "Ada" } }),
  "functions.invocations": async world => ({ id: await sharedFunction(world) }),
  "functions.getInvocation": newInvocation,
  "functions.retryInvocation": deadInvocation,
  "functions.logs": async world => ({ id: await sharedFunction(world) }),
  "functions.httpGet": request,
}

export const unsampled = {
  "functions.httpPost":
    "answers with a stream that no replay record holds; areas/functions/urls.test.ts has it",
  "functions.httpPut":
    "answers with a stream that no replay record holds; areas/functions/urls.test.ts has it",
  "functions.httpPatch":
    "answers with a stream that no replay record holds; areas/functions/urls.test.ts has it",
  "functions.httpDelete":
    "answers with a stream that no replay record holds; areas/functions/urls.test.ts has it",
  "functions.publicPost": "public: there is no caller yet to remember an Idempotency-Key for",
  "functions.publicPut": "public: there is no caller yet to remember an Idempotency-Key for",
  "functions.publicPatch": "public: there is no caller yet to remember an Idempotency-Key for",
  "functions.publicDelete": "public: there is no caller yet to remember an Idempotency-Key for",
} satisfies Unsampled
