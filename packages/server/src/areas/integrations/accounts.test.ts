import assert from "node:assert/strict"
import { generateKeyPairSync } from "node:crypto"
import { type TestContext, test } from "node:test"
import { startFakeProvider } from "../../ports/git/testing/fake-provider.ts"
import { everyScope } from "../../testing/platform.ts"
import { commit } from "./testing/hooks.ts"
import { worldOf } from "./testing/world.ts"

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
const PEM = privateKey.export({ type: "pkcs8", format: "pem" }).toString()

/** A project with an App of its own that acme has installed. */
const appWorld = async (t: TestContext) => {
  const github = await startFakeProvider(t, "github")
  github.appKey = publicKey
  github.repositories.set("acme/shop", { id: 1, branches: new Map([["main", commit(1)]]) })
  for (const [id, login] of [
    [77, "acme"],
    [78, "suspended"],
  ] as const)
    github.installations.set(id, { login, repositories: ["acme/shop"], suspended: login === "suspended" })
  const world = await worldOf(t)
  const app = { provider: "github" as const, app_id: "123", private_key: PEM, base_url: github.url }
  const putApp = () => world.svc.integrations.putCredentials(app)
  return { ...world, github, app, putApp }
}

test("credentials are kept sealed, shown without their secret, replaced and forgotten", async t => {
  const { p, svc } = await worldOf(t)
  const token = "glpat-very-secret-token"
  const put = await svc.integrations.putCredentials({ provider: "gitlab", token })
  assert.deepEqual([put.kind, put.hint, put.base_url], ["token", "oken", "https://gitlab.com/api/v4"])
  assert.deepEqual(await svc.integrations.getCredentials({ provider: "gitlab" }), put)
  assert.ok(!JSON.stringify(put).includes(token))
  const rows = await p.database.db.selectFrom("integrations.credentials").selectAll().execute()
  assert.ok(!JSON.stringify(rows).includes(token))

  await svc.integrations.putCredentials({
    provider: "gitlab",
    token: "another-token",
    base_url: "https://git.example.com/api/v4/",
  })
  const { hint, base_url } = await svc.integrations.getCredentials({ provider: "gitlab" })
  assert.deepEqual([hint, base_url], ["oken", "https://git.example.com/api/v4"])
  const stranger = p.as((await p.key("globex", everyScope)).secret)
  const gone = { status: 404, code: "resource_not_found" }
  await assert.rejects(stranger.integrations.getCredentials({ provider: "gitlab" }), gone)
  await assert.rejects(stranger.integrations.deleteCredentials({ provider: "gitlab" }), gone)
  const wrong = { status: 400, code: "invalid_provider" }
  const unknown = "sourceforge" as "gitlab"
  await assert.rejects(svc.integrations.getCredentials({ provider: unknown }), wrong)
  await assert.rejects(svc.integrations.deleteCredentials({ provider: unknown }), wrong)
  assert.equal(await svc.integrations.deleteCredentials({ provider: "gitlab" }), undefined)
  await assert.rejects(svc.integrations.getCredentials({ provider: "gitlab" }), gone)
})

test("credentials that cannot work, and addresses of private networks, are refused", async t => {
  const { svc } = await worldOf(t, { env: { SVC_OUTBOUND_ALLOW: "" } })
  const refused = (given: object, code = "invalid_parameter") =>
    assert.rejects(
      svc.integrations.putCredentials({ provider: "github", ...given }),
      { status: 400, code },
      JSON.stringify(given),
    )
  await refused({ provider: "sourceforge", token: "x" }, "invalid_provider")
  await refused({})
  await refused({ provider: "gitlab", app_id: "1", private_key: PEM })
  await refused({ app_id: "1", private_key: "no key" })
  const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
  await refused({ app_id: "1", private_key: elliptic.export({ type: "pkcs8", format: "pem" }).toString() })
  await refused({ token: "x", app_id: "1", private_key: PEM })
  await refused({ token: "with\r\nheader: injected" })
  await refused({ token: "x", username: "ada" })
  await refused({ provider: "bitbucket", token: "x", username: "a:b" })
  const addresses = [
    "http://127.0.0.1:3000",
    "https://169.254.169.254/latest",
    "https://[::1]/",
    "https://git.internal",
    "ftp://example.com",
    "https://user:pw@example.com",
    "https://example.com/api?x=",
    "nothing",
  ]
  for (const base_url of addresses) await refused({ token: "x", base_url })
})

test("an installation is linked once the project's App has seen it, and not otherwise", async t => {
  const { p, svc, putApp } = await appWorld(t)
  const link = (installation_id: number) => svc.integrations.linkInstallation({ installation_id })
  await assert.rejects(link(77), { status: 400, code: "invalid_parameter" })
  await putApp()
  await assert.rejects(link(79), { status: 404, code: "installation_not_found" })
  const linked = await link(77)
  assert.deepEqual([linked.installation_id, linked.account], [77, { login: "acme", type: "Organization" }])
  assert.deepEqual((await svc.integrations.installations({})).data, [linked])
  assert.deepEqual(await link(77), linked)

  const stranger = p.as((await p.key("globex", everyScope)).secret).integrations
  assert.equal((await stranger.installations({})).total, 0)
  const notFound = { status: 404, code: "installation_not_found" }
  await assert.rejects(stranger.createInstallationToken({ installation_id: 77 }), notFound)
  await assert.rejects(stranger.unlinkInstallation({ installation_id: 77 }), notFound)

  assert.equal(await svc.integrations.unlinkInstallation({ installation_id: 77 }), undefined)
  await assert.rejects(svc.integrations.createInstallationToken({ installation_id: 77 }), notFound)
})

test("another App takes over none of the installations of the one before", async t => {
  const { svc, app, putApp } = await appWorld(t)
  await putApp()
  await svc.integrations.linkInstallation({ installation_id: 77 })
  // A new key of the same App changes nothing.
  await putApp()
  assert.equal((await svc.integrations.installations({})).total, 1)
  await svc.integrations.putCredentials({ ...app, app_id: "456" })
  assert.equal((await svc.integrations.installations({})).total, 0)
})

test("a token of an installation is short-lived and as narrow as was asked, and a replay leaves it out", async t => {
  const { svc, github, putApp } = await appWorld(t)
  await putApp()
  for (const installation_id of [77, 78]) await svc.integrations.linkInstallation({ installation_id })
  const input = { installation_id: 77, repository_ids: [1], permissions: { contents: "read" as const } }
  const { token, expires_at, permissions } = await svc.integrations.createInstallationToken(input)
  assert.ok(token.startsWith("ghs_") && token.length > 255)
  assert.ok(Date.parse(expires_at) > Date.now())
  assert.deepEqual(permissions, { contents: "read" })
  assert.deepEqual(github.narrowings, [{ repository_ids: [1], permissions: { contents: "read" } }])
  await assert.rejects(
    svc.integrations.createInstallationToken({
      installation_id: 77,
      permissions: { administration: "write" },
    }),
    { status: 400, code: "invalid_parameter" },
  )
  await assert.rejects(svc.integrations.createInstallationToken({ installation_id: 78 }), {
    status: 502,
    code: "upstream_error",
  })
  github.answers.push([500, {}])
  await assert.rejects(svc.integrations.createInstallationToken({ installation_id: 77 }), {
    status: 503,
    code: "service_unavailable",
  })
  github.answers.push([500, {}], [403, {}])
  await assert.rejects(svc.integrations.linkInstallation({ installation_id: 77 }), { status: 503 })
  await assert.rejects(svc.integrations.linkInstallation({ installation_id: 77 }), { status: 502 })
})

test("one installation or token that fails does not keep the others from being listed", async t => {
  const { svc, github, putApp } = await appWorld(t)
  await putApp()
  const gitlab = await startFakeProvider(t, "gitlab")
  gitlab.repositories.set("acme/team/till", { id: 5, branches: new Map() })
  await svc.integrations.putCredentials({ provider: "gitlab", token: gitlab.token, base_url: gitlab.url })
  const gitea = await startFakeProvider(t, "gitea")
  await svc.integrations.putCredentials({ provider: "gitea", token: "wrong", base_url: gitea.url })
  github.installations.set(79, { login: "gone", repositories: [], suspended: false })
  for (const installation_id of [77, 78, 79]) await svc.integrations.linkInstallation({ installation_id })
  github.installations.delete(79)

  const { data, errors } = await svc.integrations.repos({})
  assert.deepEqual(
    data.map(({ full_name, provider, installation_id }) => [full_name, provider, installation_id]),
    [
      ["acme/shop", "github", 77],
      ["acme/team/till", "gitlab", null],
    ],
  )
  // A suspended one is not asked.
  assert.deepEqual(
    errors.map(({ provider, installation_id }) => [provider, installation_id]),
    [
      ["github", 79],
      ["gitea", null],
    ],
  )
  assert.ok(!JSON.stringify(errors).includes("127.0.0.1"))
})

test("a test tells whether the repository can be read", async t => {
  const { svc, connect, github, putApp } = await appWorld(t)
  await putApp()
  await svc.integrations.linkInstallation({ installation_id: 77 })
  const { id } = await connect({ installation_id: 77 })
  assert.deepEqual(await svc.integrations.test({ id }), {
    ...{ success: true, repository: "acme/shop", default_branch: "main", error: null },
  })
  github.repositories.delete("acme/shop")
  assert.match((await svc.integrations.test({ id })).error ?? "", /knows nothing/)
  await svc.integrations.unlinkInstallation({ installation_id: 77 })
  assert.match((await svc.integrations.test({ id })).error ?? "", /no installation/)
})
