/** What every provider's access promises, whatever its API is like. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { createOutbound } from "../../kernel/outbound/open.ts"
import { openGit } from "./index.ts"
import { type GitPort, type GitProviderName, RateLimitError } from "./port.ts"
import { type FakeProvider, startFakeProvider } from "./testing/fake-provider.ts"

const NOW = Date.parse("2026-11-21T12:00:00Z")
const commit = (number: number) => number.toString(16).padStart(40, "b")
const { signal } = new AbortController()

export interface GitWorld {
  readonly git: GitPort
  readonly fake: FakeProvider
  now: number
}

export const gitWorld = async (
  t: TestContext,
  provider: GitProviderName,
  allow = ["127.0.0.0/8"],
): Promise<GitWorld> => {
  const outbound = createOutbound({
    ...{ outboundAllow: allow, dnsServers: [], mode: "development", baseUrl: "http://localhost" },
  })
  t.after(() => outbound[Symbol.asyncDispose]())
  const fake = await startFakeProvider(t, provider)
  const baseUrls = { github: fake.url, gitlab: fake.url, bitbucket: fake.url, gitea: fake.url }
  const world = { fake, now: NOW }
  return Object.assign(world, { git: openGit({ http: outbound, now: () => world.now, baseUrls }) })
}

const access = (
  { git, fake }: GitWorld,
  provider: GitProviderName,
  token = fake.token,
  username: string | null = null,
) => git.access(provider, { kind: "token", baseUrl: fake.url, token, username })

const kindOf = (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail("it was let in"),
    (error: { kind?: string }) => error.kind,
  )

export const gitConformance = (provider: GitProviderName): void => {
  const scene = async (t: TestContext) => {
    const world = await gitWorld(t, provider)
    for (const id of [1, 2, 3, 4, 5]) {
      world.fake.repositories.set(`acme/shop${id}`, { id, branches: new Map([["main", commit(id)]]) })
    }
    return { ...world, world, mine: access(world, provider) }
  }

  test(`${provider}: repositories are listed over all pages, and shown one by one`, async t => {
    const { mine } = await scene(t)
    const listed = await mine.repositories(signal)
    assert.deepEqual(
      listed.map(({ fullName }) => fullName),
      [1, 2, 3, 4, 5].map(id => `acme/shop${id}`),
    )
    const one = await mine.repository("acme/shop3", signal)
    assert.deepEqual(one, listed[2])
    assert.deepEqual(
      [one.private, one.defaultBranch, one.cloneUrl],
      [true, "main", "https://git.test/acme/shop3.git"],
    )
    assert.match(one.id, /3/)
  })

  test(`${provider}: branches come with their commits, and nothing comes where nothing changed`, async t => {
    const { mine, fake } = await scene(t)
    const branches = fake.repositories.get("acme/shop1")?.branches ?? new Map<string, string>()
    const first = await mine.branches("acme/shop1", undefined, signal)
    assert.ok(first.kind === "listed" && first.etag !== undefined)
    assert.deepEqual([...first.heads], [["main", commit(1)]])
    assert.deepEqual(await mine.branches("acme/shop1", first.etag, signal), { kind: "unchanged" })

    for (const number of [10, 11, 12, 13]) branches.set(`release/${number}`, commit(number))
    const second = await mine.branches("acme/shop1", first.etag, signal)
    assert.ok(second.kind === "listed")
    assert.deepEqual(second.heads, branches)
    // What changed on a later page would not show in the first one's.
    assert.equal(second.etag === undefined, provider !== "github")
  })

  test(`${provider}: a wrong token is refused, and what is not there is missing`, async t => {
    const { world, mine } = await scene(t)
    assert.equal(await kindOf(access(world, provider, "wrong").repositories(signal)), "refused")
    assert.equal(await kindOf(mine.repository("acme/nothing", signal)), "missing")
    assert.equal(await kindOf(mine.branches("acme/nothing", undefined, signal)), "missing")
  })

  test(`${provider}: whoever asks too often is told until when to wait`, async t => {
    const { fake, mine } = await scene(t)
    const reset = String(NOW / 1_000 + 120)
    const cases: [number, Record<string, string>, number][] = [
      [429, { "retry-after": "30" }, 30],
      [429, {}, 60],
      [403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset }, 120],
      [429, { "ratelimit-reset": reset }, 120],
      [429, { "retry-after": "999999999" }, 3_600],
    ]
    for (const [status, headers, seconds] of cases) {
      fake.answers.push([status, headers])
      const error = await mine.repository("acme/shop1", signal).catch(reason => reason)
      assert.ok(error instanceof RateLimitError, String(error))
      assert.equal(error.retryAt.getTime(), NOW + seconds * 1_000)
    }
  })

  test(`${provider}: failures of the provider are told apart from refusals, and redirects lead nowhere`, async t => {
    const { fake, mine } = await scene(t)
    fake.answers.push([503, {}], [302, { location: "http://169.254.169.254/" }])
    assert.equal(await kindOf(mine.repository("acme/shop1", signal)), "unavailable")
    assert.equal(await kindOf(mine.repository("acme/shop1", signal)), "refused")
  })

  test(`${provider}: an address on a private network is not asked`, async t => {
    const world = await gitWorld(t, provider, [])
    assert.equal(await kindOf(access(world, provider).repositories(signal)), "refused")
    assert.deepEqual(world.fake.requests, [])
  })
}
