/** The device grant, by openid-client as it is. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { OAUTH_CLI_CLIENT_ID, OAUTH_DEVICE_GRANT } from "@svc/contract"
import * as client from "openid-client"
import { use } from "../../core/keys/testing/use.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { watchedFetch } from "../../testing/watch.ts"
import { decide, readPage, submit } from "./testing/browser.ts"
import { newApp, postForm } from "./testing/programs.ts"

const SCOPE = "kv:read offline_access"

const begin = async (p: TestPlatform) => {
  const { body } = await postForm(p, "/v1/oauth/device_authorization", {
    client_id: OAUTH_CLI_CLIENT_ID,
    scope: SCOPE,
  })
  const { device_code = "", user_code = "" } = body
  const form = { grant_type: OAUTH_DEVICE_GRANT, client_id: OAUTH_CLI_CLIENT_ID, device_code }
  return { userCode: user_code, poll: () => postForm(p, "/v1/oauth/token", form) }
}

/** Enters the code on the page; gives the address of the consent page. */
const enter = async (p: TestPlatform, user_code: string) =>
  (await submit(p, "/oauth/device", { user_code })).headers.get("location") ?? ""

test("openid-client connects a device while a person enters its code elsewhere", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const config = await client.discovery(
    new URL(p.config.baseUrl),
    OAUTH_CLI_CLIENT_ID,
    undefined,
    client.None(),
    {
      algorithm: "oauth2",
      execute: [client.allowInsecureRequests],
      [client.customFetch]: watchedFetch as unknown as client.CustomFetch,
    },
  )
  const started = await client.initiateDeviceAuthorization(config, { scope: SCOPE })
  assert.match(started.user_code, /^[B-Z]{4}-[B-Z]{4}$/)
  const page = await readPage(String(started.verification_uri_complete))
  assert.match(page.html, new RegExp(`value="${started.user_code}"`))
  const consentUrl = await enter(p, started.user_code.toLowerCase().replace("-", " "))
  const decided = await decide(p, consentUrl, session)
  assert.equal(decided.status, 200)
  assert.match(decided.html, /<h1>Connected/)

  const tokens = await client.pollDeviceAuthorizationGrant(config, started)
  assert.equal(await use(p, tokens.access_token), "ok")
  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? "")
  assert.equal(await use(p, renewed.access_token), "ok")
  await client.tokenRevocation(config, renewed.refresh_token ?? "")
  assert.equal(await use(p, renewed.access_token), "api_key_revoked")
})

test("a device is told to wait, to ask less often, that it was refused and that its time is over", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const device = await begin(p)
  const errorOf = async () => (await device.poll()).body.error
  assert.equal(await errorOf(), "authorization_pending")
  await p.clock.advance(4_000)
  assert.equal(await errorOf(), "slow_down")
  await p.clock.advance(9_000)
  assert.equal(await errorOf(), "slow_down")
  await p.clock.advance(15_000)
  assert.equal(await errorOf(), "authorization_pending")
  const denied = await decide(p, await enter(p, device.userCode), session, { action: "deny" })
  assert.equal(denied.status, 200)
  assert.equal(await errorOf(), "access_denied")

  const late = await begin(p)
  const consentUrl = await enter(p, late.userCode)
  await p.clock.advance(600_000)
  assert.equal((await late.poll()).body.error, "expired_token")
  assert.equal((await readPage(consentUrl, session)).status, 404)
  assert.equal(await enter(p, late.userCode), "")
})

test("a device code works once, for its own client, and a guessed user code finds nothing", async t => {
  const p = await platform(t)
  const device = await begin(p)
  await decide(p, await enter(p, device.userCode), await p.session("acme"))
  const other = await newApp(p, { grant_types: [OAUTH_DEVICE_GRANT] })
  const stolen = await postForm(p, "/v1/oauth/token", {
    grant_type: OAUTH_DEVICE_GRANT,
    client_id: other.client.client_id,
    device_code: "svc_odc_nothing",
  })
  assert.equal(stolen.body.error, "invalid_grant")
  assert.equal((await device.poll()).status, 200)
  assert.equal((await device.poll()).body.error, "invalid_grant")

  const guessed = await submit(p, "/oauth/device", { user_code: "BCDF-GHJK" })
  assert.deepEqual([guessed.status, guessed.headers.get("location")], [200, null])
  const foreign = await submit(p, "/oauth/device", { user_code: "x" }, { origin: "https://evil.example" })
  assert.equal(foreign.status, 403)
})

test("a client begins a device's connection only where it registered for that, with scopes that exist", async t => {
  const p = await platform(t)
  const path = "/v1/oauth/device_authorization"
  const { client } = await newApp(p)
  const errorOf = async (form: Record<string, string>) => (await postForm(p, path, form)).body.error
  assert.equal(await errorOf({ client_id: client.client_id }), "unauthorized_client")
  assert.equal(await errorOf({ client_id: OAUTH_CLI_CLIENT_ID, scope: "made:up" }), "invalid_scope")
  assert.equal(await errorOf({ client_id: "nobody" }), "invalid_client")
})
