import assert from "node:assert/strict"
import { generateKeyPairSync } from "node:crypto"
import { type TestContext, test } from "node:test"
import { gitConformance, gitWorld } from "./conformance.ts"

for (const provider of ["github", "gitlab", "bitbucket", "gitea"] as const) gitConformance(provider)

const { signal } = new AbortController()

test("bitbucket: a user's token is sent with the user", async t => {
  const { git, fake } = await gitWorld(t, "bitbucket")
  const account = {
    kind: "token",
    baseUrl: fake.url,
    token: fake.token,
    username: "ada@example.com",
  } as const
  assert.deepEqual(await git.access("bitbucket", account).repositories(signal), [])
})

test("a next page at another address does not get the credentials", async t => {
  const { git, fake } = await gitWorld(t, "gitlab")
  const other = await gitWorld(t, "gitlab")
  fake.answers.push([200, { link: `<${other.fake.url}/projects?page=2>; rel="next"` }])
  const account = { kind: "token", baseUrl: fake.url, token: fake.token, username: null } as const
  await assert.rejects(git.access("gitlab", account).repositories(signal), { kind: "refused" })
  assert.deepEqual(other.fake.requests, [])
})

const appWorld = async (t: TestContext) => {
  const world = await gitWorld(t, "github")
  const { fake, git } = world
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  fake.appKey = publicKey
  fake.repositories.set("acme/shop", { id: 1, branches: new Map() })
  fake.repositories.set("globex/secret", { id: 2, branches: new Map() })
  fake.installations.set(77, { login: "acme", repositories: ["acme/shop"], suspended: false })
  // The fake's tokens end by the real time.
  world.now = Date.now()
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  return { world, fake, app: git.app({ kind: "app", baseUrl: fake.url, appId: "123", privateKey: pem }), pem }
}

test("an App sees its installations, and reads what they may", async t => {
  const { app } = await appWorld(t)
  const installation = await app.installation(77, signal)
  assert.deepEqual([installation.account.login, installation.permissions], ["acme", { contents: "read" }])
  await assert.rejects(app.installation(78, signal), { kind: "missing" })
  const repositories = await app.access(77).repositories(signal)
  assert.deepEqual(
    repositories.map(({ fullName }) => fullName),
    ["acme/shop"],
  )
  await assert.rejects(app.access(77).repository("globex/secret", signal), { kind: "missing" })
})

test("an App's token is kept until five minutes before its end, for each narrowing of its own", async t => {
  const { app, fake, world } = await appWorld(t)
  const { token, expiresAt } = await app.token(77, {}, signal)
  assert.ok(token.length > 255)
  assert.equal((await app.token(77, {}, signal)).token, token)
  const narrowing = { repositoryIds: [9, 1], permissions: { contents: "read" } }
  const narrowed = await app.token(77, narrowing, signal)
  assert.notEqual(narrowed.token, token)
  assert.equal((await app.token(77, { ...narrowing, repositoryIds: [1, 9] }, signal)).token, narrowed.token)
  assert.deepEqual(fake.narrowings, [{}, { repository_ids: [1, 9], permissions: { contents: "read" } }])

  world.now = expiresAt.getTime() - 300_000
  assert.equal((await app.token(77, {}, signal)).token, token)
  world.now++
  assert.notEqual((await app.token(77, {}, signal)).token, token)
})

test("another key's App gets neither an answer nor tokens that are remembered", async t => {
  const { app, world, fake } = await appWorld(t)
  await app.token(77, {}, signal)
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  const other = world.git.app({ kind: "app", baseUrl: fake.url, appId: "123", privateKey: pem })
  await assert.rejects(other.token(77, {}, signal), { kind: "refused" })
})
