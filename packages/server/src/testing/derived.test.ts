/** What holds for every operation because of its declaration. A new operation is covered by existing. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import {
  allOperations,
  describeScopes,
  faultSpec,
  isOurs,
  isReplayed,
  mutates,
  type Operation,
  type Scope,
  scopeNames,
  takesOrganization,
  wireCode,
} from "@svc/contract"
import type { OperationName } from "@svc/sdk"
import { sql } from "kysely"
import { newSecret } from "../core/keys/secret.ts"
import { lanesOf } from "./lanes.ts"
import { everyScope, platform, type TestPlatform } from "./platform.ts"
import { callerOf, createSampleWorld } from "./sample-world.ts"
import { samples, unsampled } from "./samples.ts"

/** For all tests: none needs what another has left, or minds it. */
let p: TestPlatform
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
})
after(() => opened.disposeAsync())

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
const knock = async ({ method, path }: Operation, headers: Record<string, string>, tenantId = NOBODY) => {
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

/** Several at the same time; says which one it was that failed. */
const eachOf = async <Item>(
  items: readonly Item[],
  operationOf: (item: Item) => Operation,
  check: (item: Item) => Promise<void>,
) => {
  const inTurn = async (lane: readonly Item[]) => {
    for (const item of lane) {
      try {
        await check(item)
      } catch (error) {
        throw new Error(`${operationOf(item).name}: ${(error as Error).message}`, { cause: error })
      }
    }
  }
  await Promise.all(lanesOf(items, operationOf).map(inTurn))
}

const each = (operations: readonly Operation[], check: (operation: Operation) => Promise<void>) =>
  eachOf(operations, operation => operation, check)

/** Pages use open buckets by S3's paths, also those of people who are signed in: no cookie counts there. */
const COOKIELESS: ReadonlySet<string> = new Set([
  ...["s3.getBucket", "s3.headBucket", "s3.getObject", "s3.headObject", "s3.putObject", "s3.deleteObject"],
])
const takesCookie = ({ name, scope }: Operation) => !COOKIELESS.has(name) && scope !== "end-user"

test("no operation answers without a credential, or to one that is wrong", async () => {
  await each(guarded, async operation => {
    assert.equal((await knock(operation, {})).code, "missing_credentials")
    assert.equal((await knock(operation, bearer("svc_sk_wrong"))).code, "invalid_api_key")
    assert.equal((await knock(operation, bearer(newSecret("secret")))).code, "invalid_api_key")
    const byCookie = (await knock(operation, { cookie: "svc_session=made-up" })).code
    assert.equal(byCookie, takesCookie(operation) ? "session_expired" : "missing_credentials")
  })
})

test("a key without the scope is refused, and told which one is missing", async () => {
  const keys = new Map<string, Promise<string>>()
  const keyWithout = (services: ReadonlySet<string>): Promise<string> => {
    const name = [...services].join(" ")
    const made = async () => {
      const scopes = everyScope.filter(
        scope => scope !== "admin:full" && !services.has(scope.split(":")[0] ?? ""),
      )
      return (await p.key("acme", scopes)).secret
    }
    const known = keys.get(name) ?? made()
    keys.set(name, known)
    return known
  }
  await each(
    guarded.filter(operation => scopesOf(operation).length > 0),
    async operation => {
      const services = new Set(scopesOf(operation).map(scope => scope.split(":")[0] ?? ""))
      const refused = await knock(operation, bearer(await keyWithout(services)))
      assert.deepEqual([refused.status, refused.code], [403, "missing_scope"])
      says(refused, `missing scope: ${describeScopes(scopesOf(operation))}`)
    },
  )
})

test("a key cannot do what takes a signed-in person", async () => {
  const { secret } = await p.key("acme", everyScope)
  await each(
    guarded.filter(({ scope }) => scope === "session"),
    async operation => {
      const refused = await knock(operation, bearer(secret))
      assert.deepEqual([refused.status, refused.code], [403, "session_required"])
      const act = operation.area === "keys" ? "key management" : "this operation"
      says(refused, `${act} requires a signed-in user session`)
    },
  )
})

test("a publishable key opens nothing but the public routes of end-user auth", async () => {
  const { publishableKey } = await p.tenant("acme")
  await each(
    guarded.filter(({ scope }) => scope !== "publishable"),
    async operation => {
      const refused = await knock(operation, bearer(publishableKey))
      assert.deepEqual([refused.status, refused.code], [403, "publishable_key_not_allowed"])
      says(refused, "publishable keys cannot be used for resource operations")
    },
  )
})

test("a token of an application's user is refused by the whole API of the platform, whatever it says", async () => {
  const token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."
  await each(
    guarded.filter(({ scope }) => scope !== "end-user"),
    async operation => {
      const refused = await knock(operation, bearer(token))
      assert.deepEqual([refused.status, refused.code], [403, "token_audience_mismatch"])
    },
  )
})

test("no key of the platform does what a user of an application does", async () => {
  const { secret } = await p.key("acme", everyScope)
  await each(
    guarded.filter(({ scope }) => scope === "end-user"),
    async operation => {
      const refused = await knock(operation, bearer(secret))
      assert.deepEqual([refused.status, refused.code], [401, "token_invalid"])
    },
  )
})

test("a read-only key changes nothing", async () => {
  const { secret } = await p.key("acme", everyScope, { read_only: true })
  await each(
    mutations.filter(({ scope }) => !["public", "session", "end-user"].includes(scope as string)),
    async operation => {
      const refused = await knock(operation, bearer(secret))
      assert.deepEqual([refused.status, refused.code], [403, "key_read_only"])
      says(refused, "key is read-only — only SELECT, SHOW, and EXPLAIN are allowed")
    },
  )
})

test("an id that cannot be one answers like one that does not exist", async () => {
  const { secret } = await p.key("acme", everyScope)
  const { secret: wide } = await p.key("acme", everyScope, { project_id: null })
  const session = await p.session("acme")
  const { organizationId } = await p.tenant("acme")
  const isId = (schema: unknown) => (schema as { format?: string }).format === "uuid"
  const named = ({ params }: Operation) =>
    Object.entries(params?.properties ?? {}).filter(([name, schema]) => name !== "tenant_id" && isId(schema))
  // Whoever sends what cannot be verified is told nothing about ids.
  const known = allOperations.filter(
    op => named(op).length > 0 && op.name !== "integrations.receive" && op.scope !== "end-user",
  )
  assert.ok(known.length > 100)
  await each(known, async operation => {
    for (const [name] of named(operation)) {
      const path = operation.path.replace(`{${name}}`, "not-an-id")
      const held = bearer(takesOrganization(operation) ? wide : secret)
      const headers = operation.scope === "session" || operation.area === "account" ? session : held
      const refused = await knock({ ...operation, path }, headers, organizationId)
      const said = operation.faults?.find(code => wireCode(code) === refused.code)
      assert.ok(said, refused.code ?? "")
      assert.ok(faultSpec(said).status === 404 || faultSpec(said).meansAbsent, name)
      assert.equal(refused.status, faultSpec(said).status)
    }
  })
})

test("an operation that needs a project refuses a key of the whole organization that names none", async () => {
  const { secret } = await p.key("acme", everyScope, { project_id: null })
  const { organizationId } = await p.tenant("acme")
  await each(
    guarded.filter(
      ({ project, pathProject, scope }) =>
        project === "required" && pathProject === undefined && scope !== "end-user",
    ),
    async operation => {
      const refused = await knock(operation, bearer(secret), organizationId)
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

const sampled = (operations: readonly Operation[]) =>
  operations.flatMap(operation => {
    const sample = samples[operation.name as OperationName]
    return sample ? [{ operation, sample, name: operation.name as OperationName }] : []
  })
type Sampled = ReturnType<typeof sampled>[number]

const eachSampled = (operations: readonly Operation[], check: (item: Sampled) => Promise<void>) =>
  eachOf(sampled(operations), ({ operation }) => operation, check)

test("a repeated Idempotency-Key is answered again without acting again, whole, secrets included", async () => {
  const world = await createSampleWorld(p, "acme")
  await eachSampled(mutations.filter(isReplayed), async ({ operation, sample, name }) => {
    const caller = callerOf(world, operation)
    const input = (await sample(world)) as never
    const options = { idempotencyKey: `replay-${name}` }
    const first = await caller.request(name, input, options)
    const second = await caller.request(name, input, options)
    assert.equal(second.headers.get("idempotent-replayed"), "true")
    assert.equal(second.status, first.status)
    assert.deepEqual(second.data, first.data)
  })
})

test("every change leaves an audit entry that names the caller and the request", async () => {
  const world = await createSampleWorld(p, "acme")
  const { organizationId } = await p.tenant("acme")
  const check = async ({ operation, sample, name }: Sampled) => {
    const { requestId } = await callerOf(world, operation).request(name, (await sample(world)) as never)
    // Counts are written every second.
    if (operation.audit === "rollup") await p.clock.advance(1000)
    const found = await p.database.db
      .selectFrom("core.audit_events")
      .select("tenant_id")
      .where("outcome", "=", "success")
      .where(sql`context ->> 'request_id'`, "=", requestId)
      .executeTakeFirst()
    assert.ok(found, "it left no audit entry")
    if (operation.scope !== "session") assert.equal(found.tenant_id, organizationId)
  }
  await eachSampled(
    mutations.filter(({ audit }) => audit === "each"),
    check,
  )
  // One entry of a second names one request, so these take turns.
  await p.clock.advance(1000)
  for (const item of sampled(mutations.filter(({ audit }) => audit === "rollup"))) await check(item)
})

/** The same, of things that never existed. */
const neverOf = ({ params }: Operation, input: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(input).map(([field, value]) => [
      field,
      // A number counts something and names nothing.
      params && field in params.properties && typeof value === "string" ? NOBODY : value,
    ]),
  )

test("a thing of another tenant answers exactly like one that never existed", async () => {
  const world = await createSampleWorld(p, "acme")
  const stranger = await createSampleWorld(p, "globex")
  const named = allOperations.filter(({ params, scope }) => params && scope !== "public")
  await eachSampled(named, async ({ operation, sample, name }) => {
    const refusal = async (attempt: Record<string, unknown>) => {
      const error = await callerOf(stranger, operation)
        .request(name, attempt as never)
        .then(
          () => assert.fail("it let another tenant in"),
          (reason: { status: number; code: string; message: string }) => reason,
        )
      // A refusal may say again what was asked for.
      const said = Object.values(attempt).reduce<string>(
        (message, value) => (typeof value === "string" ? message.replaceAll(value, "…") : message),
        error.message,
      )
      return { status: error.status, code: error.code, message: said }
    }
    const input = await sample(world)
    assert.deepEqual(await refusal(input), await refusal(neverOf(operation, input)))
  })
})
