/** What holds for every operation because of its declaration. A new operation is covered by existing. */
import assert from "node:assert/strict"
import { before, describe, type TestContext, test } from "node:test"
import { allOperations, isOurs, mutates, type Operation, type Scope, scopeNames } from "@svc/contract"
import type { OperationName } from "@svc/sdk"
import { newSecret } from "../core/keys/secret.ts"
import { everyScope, platform, type TestPlatform } from "./platform.ts"
import type { SampleWorld } from "./sample-world.ts"
import { samples } from "./samples.ts"
import { unsampled } from "./unsampled.ts"

const NOBODY = "00000000-0000-7000-8000-000000000000"

const guarded = allOperations.filter(({ scope }) => scope !== "public")
const mutations = allOperations.filter(mutates)
const scopesOf = ({ scope }: Operation): readonly Scope[] =>
  typeof scope === "string" ? scopeNames.filter(name => name === scope) : scope

interface Refusal {
  readonly code: string
  readonly error: string
}

/** Sends the operation with nothing in it: who may call is decided before what is asked. */
const knock = async (
  p: TestPlatform,
  { method, path }: Operation,
  headers: Record<string, string>,
  tenantId = NOBODY,
) => {
  const named = path.replace("{tenant_id}", tenantId).replaceAll(/\{\w+\}/g, NOBODY)
  const response = await p.request(named, {
    method,
    headers: { ...headers, ...(method === "GET" ? {} : { "content-type": "application/json" }) },
    ...(["GET", "HEAD", "DELETE"].includes(method) ? {} : { body: "{}" }),
  })
  const isJson = response.headers.get("content-type")?.startsWith("application/json")
  // Where the protocol fixes the body of a refusal, or there is none, a header has the code.
  const { code, error } = (isJson && method !== "HEAD" ? await response.json() : {}) as Partial<Refusal>
  return {
    status: response.status,
    code: code ?? response.headers.get("x-error-code"),
    error,
  }
}

/** The literal text, wherever the refusal has one. */
const says = ({ error }: { error: string | undefined }, text: string) => {
  if (error !== undefined) assert.equal(error, text)
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

const each = async (operations: readonly Operation[], check: (operation: Operation) => Promise<void>) => {
  for (const operation of operations) {
    try {
      await check(operation)
    } catch (error) {
      throw new Error(`${operation.name}: ${(error as Error).message}`, { cause: error })
    }
  }
}

test("no operation answers without a credential, or to one that is wrong", async t => {
  const p = await platform(t)
  await each(guarded, async operation => {
    assert.equal((await knock(p, operation, {})).code, "missing_credentials")
    assert.equal((await knock(p, operation, bearer("svc_sk_wrong"))).code, "invalid_api_key")
    assert.equal((await knock(p, operation, bearer(newSecret("secret")))).code, "invalid_api_key")
    assert.equal((await knock(p, operation, { cookie: "svc_session=made-up" })).code, "session_expired")
  })
})

test("a key without the scope is refused, and told which one is missing", async t => {
  const p = await platform(t)
  const scoped = guarded.filter(operation => scopesOf(operation).length > 0)
  for (const operation of scoped) {
    const without = everyScope.filter(
      scope =>
        scope !== "admin:full" &&
        !scopesOf(operation).some(needed => needed.split(":")[0] === scope.split(":")[0]),
    )
    const { secret } = await p.key("acme", without)
    const refused = await knock(p, operation, bearer(secret))
    assert.deepEqual([refused.status, refused.code], [403, "missing_scope"], operation.name)
    says(refused, `missing scope: ${scopesOf(operation).join(" or ")}`)
  }
})

test("a key cannot do what takes a signed-in person", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  await each(
    guarded.filter(({ scope }) => scope === "session"),
    async operation => {
      const refused = await knock(p, operation, bearer(secret))
      assert.deepEqual([refused.status, refused.code], [403, "session_required"])
      const act = operation.area === "keys" ? "key management" : "this operation"
      says(refused, `${act} requires a signed-in user session`)
    },
  )
})

test("a publishable key opens nothing but the public routes of end-user auth", async t => {
  const p = await platform(t)
  const { publishableKey } = await p.tenant("acme")
  await each(
    guarded.filter(({ scope }) => scope !== "publishable"),
    async operation => {
      const refused = await knock(p, operation, bearer(publishableKey))
      assert.deepEqual([refused.status, refused.code], [403, "publishable_key_not_allowed"])
      says(refused, "publishable keys cannot be used for resource operations")
    },
  )
})

test("a read-only key changes nothing", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope, { read_only: true })
  await each(
    mutations.filter(({ scope }) => scope !== "public" && scope !== "session"),
    async operation => {
      const refused = await knock(p, operation, bearer(secret))
      assert.deepEqual([refused.status, refused.code], [403, "key_read_only"])
      says(refused, "key is read-only — only SELECT, SHOW, and EXPLAIN are allowed")
    },
  )
})

test("an operation that needs a project refuses a key of the whole organization that names none", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope, { project_id: null })
  const { organizationId } = await p.tenant("acme")
  await each(
    guarded.filter(({ project }) => project === "required"),
    async operation => {
      const refused = await knock(p, operation, bearer(secret), organizationId)
      assert.deepEqual([refused.status, refused.code], [400, "project_required"])
    },
  )
})

test("every operation that changes state has a sample, or a reason to have none", () => {
  const missing = mutations
    .filter(isOurs)
    .filter(({ name }) => !(name in samples) && !(name in unsampled))
    .map(({ name }) => name)
  assert.deepEqual(missing, [], "add them to testing/samples.ts")
})

const worldOf = async (t: TestContext): Promise<SampleWorld> => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { secret } = await p.key("acme", everyScope)
  return { platform: p, person, key: p.as(secret), tenant: "acme" }
}

const callerOf = ({ person, key }: SampleWorld, { scope }: Operation) => (scope === "session" ? person : key)

const sampled = (operations: readonly Operation[]) =>
  operations.flatMap(operation => {
    const sample = samples[operation.name as OperationName]
    return sample ? [{ operation, sample, name: operation.name as OperationName }] : []
  })

test("a repeated Idempotency-Key is answered again without acting again, and without its secrets", async t => {
  const world = await worldOf(t)
  for (const { operation, sample, name } of sampled(mutations)) {
    const caller = callerOf(world, operation)
    const input = (await sample(world)) as never
    const options = { idempotencyKey: `replay-${name}` }
    const first = await caller.request(name, input, options)
    const second = await caller.request(name, input, options)
    const shown = { ...(first.data as Record<string, unknown> | undefined) }
    for (const secret of operation.secrets ?? []) delete shown[secret]
    assert.equal(second.headers.get("idempotent-replayed"), "true", name)
    assert.equal(second.status, first.status, name)
    assert.deepEqual({ ...(second.data as Record<string, unknown> | undefined) }, shown, name)
  }
})

test("every change leaves an audit entry that names the caller and the request", async t => {
  const world = await worldOf(t)
  const { platform: p } = world
  const { organizationId } = await p.tenant("acme")
  for (const { operation, sample, name } of sampled(mutations)) {
    const reply = await callerOf(world, operation).request(name, (await sample(world)) as never)
    await p.clock.advance(1000)
    const entries = await p.database.db
      .selectFrom("core.audit_events")
      .selectAll()
      .where("outcome", "=", "success")
      .orderBy("occurred_at", "desc")
      .execute()
    const found = entries.find(
      entry => (entry.context as { request_id: string }).request_id === reply.requestId,
    )
    assert.ok(found, `${name} left no audit entry`)
    if (operation.scope !== "session") assert.equal(found.tenant_id, organizationId)
  }
})

describe("a thing of another tenant answers exactly like one that never existed", () => {
  const named = sampled(allOperations).filter(
    ({ operation }) => operation.params && operation.scope !== "public",
  )
  let world: SampleWorld
  let stranger: SampleWorld

  before(() => undefined)

  test("for every operation that names a thing by id", async t => {
    world = await worldOf(t)
    const { platform: p } = world
    const { secret } = await p.key("globex", everyScope)
    stranger = { platform: p, person: await p.person("globex"), key: p.as(secret), tenant: "globex" }
    for (const { operation, sample, name } of named) {
      const input = await sample(world)
      const never = Object.fromEntries(
        Object.entries(input).map(([field, value]) => [
          field,
          // A number counts something and names nothing.
          operation.params && field in operation.params.properties && typeof value === "string"
            ? NOBODY
            : value,
        ]),
      )
      const refusal = async (attempt: Record<string, unknown>) => {
        const error = await callerOf(stranger, operation)
          .request(name, attempt as never)
          .then(
            () => assert.fail(`${name} let another tenant in`),
            (reason: { status: number; code: string; message: string }) => reason,
          )
        // A refusal may say again what was asked for.
        const said = Object.values(attempt).reduce<string>(
          (message, value) => (typeof value === "string" ? message.replaceAll(value, "…") : message),
          error.message,
        )
        return { status: error.status, code: error.code, message: said }
      }
      assert.deepEqual(await refusal(input), await refusal(never), name)
    }
  })
})
