/** Each scope alone admits exactly the operations that name it: asked of every operation, over HTTP. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { allOperations, isOurs, isScoped, type Operation, type Scope, scopeNames } from "@svc/contract"
import { everyScope, platform, type TestPlatform } from "./platform.ts"

let p: TestPlatform
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
})
after(() => opened.disposeAsync())

const NOBODY = "00000000-0000-7000-8000-000000000000"

/** What a scope admits beyond the operations that name it: the specification's own words (5.3), and nothing else. */
const INCLUDED: Readonly<Partial<Record<Scope, readonly Scope[]>>> = {
  "database:query": ["database:read"],
  "admin:full": scopeNames,
}

/** Asks with a field that no operation has: who may call is decided before it is refused, and nothing runs. */
const isAdmitted = async (
  { method, path }: Operation,
  secret: string,
  tenantId: string,
): Promise<boolean> => {
  const named = path.replace("{tenant_id}", tenantId).replaceAll(/\{\w+\}/g, NOBODY)
  const response = await p.request(`${named}?no_such_field=1`, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      ...(method === "GET" ? {} : { "content-type": "application/json" }),
    },
    ...(["GET", "HEAD", "DELETE"].includes(method) ? {} : { body: "{}" }),
  })
  await response.body?.cancel()
  return response.headers.get("x-error-code") !== "missing_scope"
}

test("a scope alone admits exactly the operations that name it: each of theirs is enough, all others together are not", async () => {
  const { organizationId } = await p.tenant("acme")
  const known = new Map<string, Promise<{ secret: string }>>()
  const holding = (scopes: readonly Scope[]) => {
    const made = known.get(scopes.join()) ?? p.key("acme", scopes)
    known.set(scopes.join(), made)
    return made
  }
  const wrong: string[] = []
  for (const operation of allOperations.filter(operation => isOurs(operation) && isScoped(operation))) {
    const accepted: readonly string[] = [operation.scope].flat()
    const isEnough = (scope: Scope) => [scope, ...(INCLUDED[scope] ?? [])].some(one => accepted.includes(one))
    for (const scope of scopeNames.filter(isEnough)) {
      const { secret } = await holding([scope])
      if (!(await isAdmitted(operation, secret, organizationId)))
        wrong.push(`${scope} does not admit ${operation.name}`)
    }
    const { secret } = await holding(scopeNames.filter(scope => !isEnough(scope)))
    if (await isAdmitted(operation, secret, organizationId))
      wrong.push(`${operation.name} is admitted without a scope of its own`)
  }
  assert.deepEqual(wrong, [])
})

test("/v1/me shows the scopes that are in effect, included ones too", async () => {
  const shown = async (...scopes: Scope[]) => (await (await p.client("acme", ...scopes)).identity.me()).scopes
  assert.deepEqual(await shown("kv:write"), ["kv:write"])
  assert.deepEqual(await shown("database:query"), ["database:read", "database:query"])
  assert.deepEqual(await shown("admin:full"), [...everyScope])
})

test("the three function scopes of the specification each list and read functions, and none reads what is another's", async () => {
  const { id } = await (await p.client("acme", "functions:deploy")).functions.create({
    name: "hello",
    runtime: "nodejs",
    code: "export const handler = async () => 1",
  })
  for (const scope of ["functions:deploy", "functions:invoke", "functions:logs", "functions:read"] as const) {
    const caller = await p.client("acme", scope)
    assert.equal((await caller.functions.get({ id })).id, id)
    assert.equal((await caller.functions.list({})).total, 1)
  }
})

test("what a call does beside its own operation takes the scope of that too", async () => {
  const refused = (scope: Scope) => ({
    status: 403,
    code: "missing_scope",
    message: `missing scope: ${scope}`,
  })
  const kv = await p.client("acme", "kv:write")
  await assert.rejects(kv.kv.batch({ ops: [{ op: "get", key: "a" }] }), refused("kv:read"))
  const storage = await p.client("acme", "storage:write")
  await storage.storage.createBucket({ name: "photos" })
  const copy = { source_bucket: "photos", source_key: "a", bucket: "photos", key: "b" }
  await assert.rejects(storage.storage.copyObject(copy), refused("storage:read"))
  await assert.rejects(storage.storage.moveObject(copy), refused("storage:read"))
  await assert.rejects(storage.storage.presign({ bucket: "photos", key: "a" }), refused("storage:read"))
  const put = { bucket: "photos", key: "a", method: "PUT" } as const
  assert.equal((await storage.storage.presign(put)).method, "PUT")
  await assert.rejects(
    (await p.client("acme", "storage:read")).storage.presign(put),
    refused("storage:write"),
  )
  const search = await p.client("acme", "search:write")
  const table = { type: "database", config: { table: "orders" } } as const
  await assert.rejects(
    search.search.upsertSource({ name: "t", ...table, fields: [{ path: "a" }] }),
    refused("database:read"),
  )
  const files = { name: "s", type: "storage", config: { bucket: "photos" } } as const
  await assert.rejects(search.search.upsertSource(files), refused("storage:read"))
  const events = await p.client("acme", "events:manage")
  const { id: topic_id } = await events.events.createTopic({ name: "orders" })
  const subscription = { topic_id, sub_type: "function", config: { function_name: "hello" } } as const
  await assert.rejects(events.events.createSubscription(subscription), refused("functions:invoke"))
})
