/** Every operation against thousands of inputs: whatever is sent, the answer is one that the contract declares. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { allOperations, mutates, type Operation, takesOrganization } from "@svc/contract"
import { createSvc, type OperationName } from "@svc/sdk"
import fc from "fast-check"
import { bodyText, garbage, type Spoil, spoiled } from "./arbitraries.ts"
import { LANES_MAX, lanesOf, startsServers } from "./lanes.ts"
import { everyScope, PASSWORD, platform, type TestPlatform, uniqueName } from "./platform.ts"
import type { SampleWorld } from "./sample-world.ts"
import { samples } from "./samples.ts"
import { watchedFetch } from "./watch.ts"

/** Change it to look elsewhere; a failure prints it with the path to the smallest case. */
const SEED = 20_261_120
const RUNS = 30
const RUNS_WITH_SERVERS = 3
/** Far beyond what any takes, also where a database server starts on a machine that does much else: only a hang lasts so long. */
const REPLY_MS_MAX = 120_000
/**
 * What an installation lacks, or cannot do at the moment, it says; and 502 is the specification's answer to a path that
 * leaves a sandbox's roots.
 */
const isIncapable = (status: number, { faults = [] }: Operation): boolean =>
  status === 501 || status === 503 || (status === 502 && faults.includes("path_outside_guest_roots"))

/** A URL has less room than a body. */
const URL_TEXT_MAX = 300

/** In the spoiled part. */
const CHANGES_MAX = 2

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

const rarely = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 14, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const PARTS = ["params", "query", "body"] as const

/** One part is spoiled, or none: a request that is wrong everywhere gets no further than the first check. */
const caseOf = (operation: Operation): fc.Arbitrary<Case> => {
  const spoils = [...PARTS.filter(part => operation[part]), "query" as const, undefined]
  // Made once: putting the arbitraries of a schema together costs more than a request.
  return fc.constantFrom(...spoils.map(spoil => caseWith(operation, spoil))).chain(made => made)
}

const caseWith = (operation: Operation, spoil: (typeof PARTS)[number] | undefined): fc.Arbitrary<Case> => {
  const part = (name: (typeof PARTS)[number]) =>
    spoiled(operation[name] ?? NOTHING, name === spoil ? CHANGES_MAX : 0)
  return fc.record({
    params: part("params"),
    query: part("query"),
    body: part("body"),
    instead: rarely(garbage),
    raw: rarely(
      fc.constantFrom("", "{", "[1,]", '{"a":1}}', "\ufeff{}", "nul", '"\\x"', "{}\n{}", "[".repeat(50_000)),
    ),
    sampled: fc.boolean(),
    keyed: fc.boolean(),
  })
}

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

/** Inputs that samples.ts has no use for, because what they name or end is no part of its world. */
const beside: {
  readonly [Name in OperationName]?: (world: SampleWorld) => Promise<Record<string, unknown>>
} = {
  "account.signup": async () => ({ email: `${uniqueName()}@example.com`, password: PASSWORD }),
  "account.login": async ({ person }) => ({ email: (await person.account.get()).email, password: PASSWORD }),
  "organizations.delete": async ({ person }) => {
    const { id } = await person.organizations.create({ name: uniqueName() })
    return { org_id: id }
  },
}

interface Caller {
  readonly world: SampleWorld
  readonly session: Record<string, string>
  readonly bearer: Record<string, string>
  /** Of the whole organization. */
  readonly wide: Record<string, string>
}

const TENANT = "fuzz"

/** A person and a key of the tenant; made anew when the person's session has ended. */
const createCaller = async (p: TestPlatform): Promise<Caller> => {
  const session = await p.session(TENANT)
  const { secret } = await p.key(TENANT, everyScope)
  const person = createSvc({ baseUrl: p.url, fetch: watchedFetch, retries: 0, headers: session })
  const wide = await p.key(TENANT, everyScope, { project_id: null })
  const world = { platform: p, person, key: p.as(secret), wide: p.as(wide.secret), tenant: TENANT }
  const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
  return { world, session, bearer: bearer(secret), wide: bearer(wide.secret) }
}

const credentialsOf = (operation: Operation, { session, bearer, wide }: Caller) => {
  if (operation.scope === "session") return session
  if (operation.scope === "public") return {}
  return takesOrganization(operation) ? wide : bearer
}

const headersOf = (operation: Operation, caller: Caller, { keyed }: Case) => ({
  ...credentialsOf(operation, caller),
  ...(operation.method === "GET" ? {} : { "content-type": "application/json" }),
  ...(keyed && operation.method !== "GET" ? { "idempotency-key": uniqueName() } : {}),
})

const send = async (
  operation: Operation,
  caller: Caller,
  input: Case,
  sample: Record<string, unknown> | undefined,
): Promise<Response> => {
  const { method } = operation
  return await caller.world.platform.request(target(operation, input, sample), {
    method,
    headers: headersOf(operation, caller, input),
    signal: AbortSignal.timeout(REPLY_MS_MAX),
    ...(operation.method === "GET" || method === "HEAD" ? {} : { body: content(operation, input, sample) }),
  })
}

/** What streams live goes on until the caller hangs up. */
const textOf = async (response: Response): Promise<string> => {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response.text()
  await response.body?.cancel()
  return ""
}

/** Goes through operations one after the other, as one caller for as long as that one is signed in. */
const createFuzzer = async (p: TestPlatform) => {
  let caller = await createCaller(p)

  const samplesOf = (operation: Operation) => {
    const make = beside[operation.name as OperationName] ?? samples[operation.name as OperationName]
    // What only reads leaves it as it is.
    let kept: Record<string, unknown> | undefined
    return async (): Promise<Record<string, unknown> | undefined> => {
      if (kept) return kept
      const sample = await make?.(caller.world).catch(async () => {
        // Signed in too often, or owner of as many as a plan allows: then somebody else.
        caller = await createCaller(p)
        return await make(caller.world)
      })
      if (operation.effect === "read") kept = sample
      return sample
    }
  }

  const checkAlive = async () => {
    assert.equal((await p.request("/v1/me", { headers: caller.bearer })).status, 200)
    // Log-out, say, or a new password: whoever it was signs in anew.
    if ((await p.request("/v1/account", { headers: caller.session })).status === 401)
      caller = await createCaller(p)
  }

  return async (operation: Operation): Promise<void> => {
    const nextSample = samplesOf(operation)
    const property = fc.asyncProperty(caseOf(operation), async input => {
      const sample = input.sampled ? await nextSample() : undefined
      const response = await send(operation, caller, input, sample)
      const text = await textOf(response)
      const isAnswer = response.status < 500 || isIncapable(response.status, operation)
      assert.ok(isAnswer, `${operation.name} answered ${response.status}: ${text}`)
      if (operation.scope === "session" && response.status === 401) caller = await createCaller(p)
    })
    const numRuns = startsServers(operation) ? RUNS_WITH_SERVERS : RUNS
    await fc.assert(property, { seed: SEED, numRuns, endOnFailure: true })
    await checkAlive()
  }
}

test("no input makes an operation fail, hang or answer what it does not declare", {
  concurrency: LANES_MAX,
}, async (t: TestContext) => {
  const p = await platform(t)
  const lanes = await Promise.all(
    lanesOf(allOperations, operation => operation).map(async lane => ({ lane, fuzz: await createFuzzer(p) })),
  )
  // What changes state first: the lists then show what was let in.
  for (const isChange of [true, false]) {
    await Promise.all(
      lanes.map(async ({ lane, fuzz }) => {
        for (const operation of lane.filter(one => mutates(one) === isChange))
          await t.test(operation.name, () => fuzz(operation))
      }),
    )
  }
})
