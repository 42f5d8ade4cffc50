/** Every operation against thousands of inputs: whatever is sent, the answer is one that the contract declares. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { allOperations, mutates, type Operation } from "@svc/contract"
import { createSvc, type OperationName } from "@svc/sdk"
import fc from "fast-check"
import { bodyText, garbage, type Spoil, spoiled } from "./arbitraries.ts"
import { everyScope, platform, type TestPlatform, uniqueName } from "./platform.ts"
import { type SampleWorld, samples } from "./samples.ts"
import { watchedFetch } from "./watch.ts"

/** Change it to look elsewhere; a failure prints it with the path to the smallest case. */
const SEED = 20_261_120
const RUNS = 30
const REPLY_MS_MAX = 5_000

/** A URL has less room than a body. */
const URL_TEXT_MAX = 300

const NOTHING = { type: "object", properties: {} }

interface Case {
  readonly params: Spoil
  readonly query: Spoil
  readonly body: Spoil
  /** In the place of the body, when not undefined. */
  readonly instead: unknown
  /** Sent as it is, when not undefined. */
  readonly raw: string | undefined
  /** Whether to begin with an input that names things which exist. */
  readonly sampled: boolean
  readonly keyed: boolean
}

const rarely = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 12 })

const caseOf = ({ params, query, body }: Operation): fc.Arbitrary<Case> =>
  fc.record({
    params: spoiled(params ?? NOTHING),
    query: spoiled(query ?? NOTHING),
    body: spoiled(body ?? NOTHING),
    instead: rarely(garbage),
    raw: rarely(
      fc.constantFrom("", "{", "[1,]", '{"a":1}}', "\ufeff{}", "nul", '"\\x"', "{}\n{}", "[".repeat(50_000)),
    ),
    sampled: fc.boolean(),
    keyed: fc.boolean(),
  })

const urlText = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "")
  return encodeURIComponent(text.slice(0, URL_TEXT_MAX).toWellFormed())
}

const only = (
  input: Readonly<Record<string, unknown>> | undefined,
  fields: { properties: object } | undefined,
) => input && Object.fromEntries(Object.entries(input).filter(([name]) => name in (fields?.properties ?? {})))

const target = (
  operation: Operation,
  { params, query }: Case,
  sample: Record<string, unknown> | undefined,
): string => {
  const named = operation.params ? params(only(sample, operation.params)) : {}
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => urlText(named[name] ?? ""))
  const asked = operation.query || sample === undefined ? query(only(sample, operation.query)) : {}
  const pairs = Object.entries(asked).map(([name, value]) => `${urlText(name)}=${urlText(value)}`)
  return pairs.length > 0 ? `${path}?${pairs.join("&")}` : path
}

const content = (
  { body: schema }: Operation,
  { body, instead, raw }: Case,
  sample: Record<string, unknown> | undefined,
) => raw ?? bodyText(instead ?? body(only(sample, schema)))

/** What ends a tenant is sampled with one of its own, which nobody will miss. */
const throwaway: {
  readonly [Name in OperationName]?: (world: SampleWorld) => Promise<Record<string, unknown>>
} = {
  "organizations.delete": async ({ person }) => ({
    org_id: (await person.organizations.create({ name: uniqueName() })).id,
  }),
}

interface Caller {
  readonly world: SampleWorld
  readonly session: Record<string, string>
  readonly bearer: Record<string, string>
}

const TENANT = "fuzz"

/** A person and a key of the tenant; made anew when the person's session has ended. */
const createCaller = async (p: TestPlatform): Promise<Caller> => {
  const session = await p.session(TENANT)
  const { secret } = await p.key(TENANT, everyScope)
  const person = createSvc({ baseUrl: p.url, fetch: watchedFetch, retries: 0, headers: session })
  const world: SampleWorld = { platform: p, person, key: p.as(secret), tenant: TENANT }
  return { world, session, bearer: { authorization: `Bearer ${secret}` } }
}

const headersOf = ({ scope, method }: Operation, { session, bearer }: Caller, { keyed }: Case) => ({
  ...(scope === "session" ? session : scope === "public" ? {} : bearer),
  ...(method === "GET" ? {} : { "content-type": "application/json" }),
  ...(keyed && method !== "GET" ? { "idempotency-key": uniqueName() } : {}),
})

const send = async (operation: Operation, caller: Caller, input: Case): Promise<Response> => {
  const make = throwaway[operation.name as OperationName] ?? samples[operation.name as OperationName]
  const sample = input.sampled ? await make?.(caller.world) : undefined
  const { method } = operation
  return await caller.world.platform.request(target(operation, input, sample), {
    method,
    headers: headersOf(operation, caller, input),
    signal: AbortSignal.timeout(REPLY_MS_MAX),
    ...(method === "GET" || method === "HEAD" ? {} : { body: content(operation, input, sample) }),
  })
}

const fuzz = async (operation: Operation, p: TestPlatform, first: Caller): Promise<Caller> => {
  let caller = first
  const property = fc.asyncProperty(caseOf(operation), async input => {
    const response = await send(operation, caller, input)
    assert.ok(
      response.status < 500,
      `${operation.name} answered ${response.status}: ${await response.clone().text()}`,
    )
    await response.arrayBuffer()
    if (operation.scope !== "session") return
    const alive = await p.request("/v1/account", { headers: caller.session })
    if (alive.status !== 200) caller = await createCaller(p)
  })
  await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true })
  return caller
}

const checkAlive = async (p: TestPlatform, { bearer }: Caller, after: string) => {
  const response = await p.request("/v1/me", { headers: bearer })
  assert.equal(response.status, 200, `after ${after}`)
}

test("no input makes an operation fail, hang or answer what it does not declare", async (t: TestContext) => {
  const p = await platform(t)
  let caller = await createCaller(p)
  // What changes state first: the lists then show what was let in.
  const ordered = [
    ...allOperations.filter(mutates),
    ...allOperations.filter(operation => !mutates(operation)),
  ]
  for (const operation of ordered) {
    await t.test(operation.name, async () => {
      caller = await fuzz(operation, p, caller)
      await checkAlive(p, caller, operation.name)
    })
  }
})
