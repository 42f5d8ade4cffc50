/** What somebody with bad intentions would try. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { use } from "../../core/keys/testing/use.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { watchedFetch } from "../../testing/watch.ts"
import { approve, openRequest, readPage, submit } from "./testing/browser.ts"
import { type App, newApp, postForm, REDIRECT_URI } from "./testing/programs.ts"

const codeForm = ({ client, verifier }: App, answer: URL) => ({
  grant_type: "authorization_code",
  client_id: client.client_id,
  code: answer.searchParams.get("code") ?? "",
  code_verifier: verifier,
  redirect_uri: REDIRECT_URI,
})

const exchange = (p: TestPlatform, form: Record<string, string>, headers?: Record<string, string>) =>
  postForm(p, "/v1/oauth/token", form, headers)

const authorize = async (url: URL) => {
  const response = await watchedFetch(url, { redirect: "manual" })
  const location = response.headers.get("location")
  return {
    status: response.status,
    location,
    body: location ? {} : ((await response.json()) as { error: string }),
  }
}

test("a code that is used twice ends what it gave", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const answer = await approve(p, await app.url(), await p.session("acme"))
  const { access_token, refresh_token } = await app.redeem(answer)
  assert.equal(await use(p, access_token), "ok")
  const again = await exchange(p, codeForm(app, answer))
  assert.deepEqual([again.status, again.body.error], [400, "invalid_grant"])
  assert.equal(await use(p, access_token), "api_key_revoked")
  await assert.rejects(app.refresh(refresh_token ?? ""), { error: "invalid_grant" })
})

test("of two exchanges of a code at the same time one is served at most", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const answer = await approve(p, await app.url(), await p.session("acme"))
  const tries = await Promise.all([1, 2, 3, 4].map(() => exchange(p, codeForm(app, answer))))
  assert.ok(tries.filter(({ status }) => status === 200).length <= 1)
})

test("a code is worth nothing without its verifier, at another client, with another redirect URI or after a minute", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const [app, thief] = await Promise.all([newApp(p), newApp(p)])
  const answer = await approve(p, await app.url(), session)
  const form = codeForm(app, answer)
  const { code_verifier: _, ...unverified } = form
  for (const wrong of [
    unverified,
    { ...form, code_verifier: thief.verifier },
    { ...form, code_verifier: "" },
    { ...form, client_id: thief.client.client_id },
    { ...form, redirect_uri: "http://127.0.0.1:51235/callback" },
    { ...form, code: "svc_oac_nothing" },
  ])
    assert.equal((await exchange(p, wrong)).body.error, "invalid_grant")
  await p.clock.advance(60_000)
  assert.equal((await exchange(p, form)).body.error, "invalid_grant")
})

test("a request without a challenge of S256 is refused", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  for (const parameters of [
    { code_challenge: "" },
    { code_challenge_method: "plain" },
    { code_challenge_method: "" },
    { code_challenge: "short" },
  ]) {
    const answer = new URL(await openRequest(await app.url(parameters)))
    assert.equal(answer.searchParams.get("error"), "invalid_request")
    assert.equal(answer.searchParams.get("iss"), p.config.baseUrl)
  }
})

test("what is wrong with a request goes back to the client, with its state and our name", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const wrongs = {
    unsupported_response_type: { response_type: "token" },
    invalid_scope: { scope: "kv:read made:up" },
    invalid_target: { resource: "https://elsewhere.example/api" },
  }
  for (const [error, parameters] of Object.entries(wrongs)) {
    const url = await app.url(parameters)
    const answer = new URL(await openRequest(url))
    assert.equal(`${answer.origin}${answer.pathname}`, REDIRECT_URI)
    const told = ["error", "state", "iss"].map(name => answer.searchParams.get(name))
    assert.deepEqual(told, [error, url.searchParams.get("state"), p.config.baseUrl])
  }
  const devices = await newApp(p, { grant_types: ["urn:ietf:params:oauth:grant-type:device_code"] })
  const answer = new URL(await openRequest(await devices.url()))
  assert.equal(answer.searchParams.get("error"), "unauthorized_client")
})

test("nobody is sent to an address that the client did not register", async t => {
  const p = await platform(t)
  const https = "https://notes.example.com/cb"
  const app = await newApp(p, { redirect_uris: [https, REDIRECT_URI] })
  for (const redirect_uri of [
    "https://evil.example/cb",
    "https://notes.example.com.evil.example/cb",
    "https://notes.example.com@evil.example/cb",
    "https://notes.example.com/cb/",
    "https://notes.example.com/cb?x=1",
    "https://notes.example.com/cb#x",
    "https://notes.example.com/cb/../../x",
    "https://notes.example.com:444/cb",
    "HTTPS://notes.example.com/cb",
    "https://notes.example.com/%63b",
    "//notes.example.com/cb",
    "http://notes.example.com/cb",
    "http://127.0.0.1:51234@evil.example/callback",
    "http://127.0.0.1.evil.example/callback",
    "http://localhost:51234/callback",
    "http://127.0.0.1:51234/other",
    "javascript:alert(1)",
    "",
  ]) {
    const { status, location, body } = await authorize(await app.url({ redirect_uri }))
    assert.deepEqual(
      [status, location, (body as { error: string }).error],
      [400, null, "invalid_redirect_uri"],
      redirect_uri,
    )
  }
  // The port of a loopback address is chosen when the program starts.
  assert.equal((await authorize(await app.url({ redirect_uri: "http://127.0.0.1:9/callback" }))).status, 302)
  const unknown = await authorize(
    await app.url({ client_id: "nobody", redirect_uri: "https://evil.example" }),
  )
  assert.deepEqual([unknown.status, unknown.location], [401, null])
})

test("a person whose browser was sent here with a bad request reads a page and not JSON", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const page = await readPage(String(await app.url({ redirect_uri: "https://evil.example/<script>" })))
  assert.equal(page.status, 400)
  assert.match(page.html, /<h1>It did not work<\/h1>/)
  assert.equal(page.headers.get("location"), null)
})

test("a form of another page, session or person decides nothing", async t => {
  const p = await platform(t)
  const [session, other] = [await p.session("acme"), await p.session("acme")]
  const app = await newApp(p)
  const consentUrl = await openRequest(await app.url())
  const path = new URL(consentUrl).pathname
  const page = await readPage(consentUrl, session)
  const foreign = await readPage(consentUrl, other)
  const form = { csrf: page.csrf, action: "approve", scope: page.scopes, project: page.project ?? "" }
  const tries = [
    await submit(p, path, form, { ...session, origin: "https://evil.example" }),
    await submit(p, path, form, { ...session, origin: "null" }),
    await p.request(path, {
      method: "POST",
      headers: { cookie: session.cookie ?? "" },
      body: new URLSearchParams({ csrf: page.csrf, action: "approve" }),
    }),
    await submit(p, path, { ...form, csrf: foreign.csrf }, session),
    await submit(p, path, { ...form, csrf: "" }, session),
    await submit(
      p,
      `${path}/sign-in`,
      { email: "a@example.com", password: "x" },
      { origin: "https://evil.example" },
    ),
  ]
  for (const response of tries) {
    assert.equal(response.status, 403)
    assert.equal(response.headers.get("x-error-code"), "csrf_failed")
  }
  assert.equal((await submit(p, path, form)).headers.get("x-error-code"), "session_required")
  const next = new URL(await openRequest(await app.url())).pathname
  assert.equal((await submit(p, next, form, session)).headers.get("x-error-code"), "csrf_failed")
  assert.equal((await submit(p, path, form, session)).status, 303)
  const late = await submit(p, `${path}/sign-in`, { email: "a@example.com", password: "x" })
  assert.equal(late.headers.get("x-error-code"), "resource_not_found")
  assert.equal((await submit(p, path, form, session)).headers.get("x-error-code"), "resource_not_found")
})

test("the page cannot be framed, runs nothing, sends its form to us and the client alone, and shows names as text", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const app = await newApp(p, { client_name: "<script>alert(1)</script>\"'" })
  const { headers, html } = await readPage(await openRequest(await app.url()), session)
  const policy = headers.get("content-security-policy") ?? ""
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.match(policy, /form-action 'self' http:\/\/127\.0\.0\.1:51234(;|$)/)
  assert.doesNotMatch(policy, /unsafe/)
  assert.deepEqual([headers.get("x-frame-options"), headers.get("cache-control")], ["DENY", "no-store"])
  assert.doesNotMatch(html, /<script/)
  assert.match(html, /127\.0\.0\.1:51234/)
})

test("a client with a secret is served with it alone, and by one way of sending it", async t => {
  const p = await platform(t)
  const app = await newApp(p, { token_endpoint_auth_method: "client_secret_basic" })
  const open = await newApp(p)
  const id = app.client.client_id
  const secret = String(app.client.client_secret)
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` })
  const form = { grant_type: "refresh_token", refresh_token: "svc_ort_nothing" }
  const answers = [
    await exchange(p, { ...form, client_id: id }),
    await exchange(p, { ...form, client_id: id, client_secret: "wrong" }),
    await exchange(p, form),
    await exchange(p, form, basic(`${id}:wrong`)),
    await exchange(p, form, basic(`${id}:%`)),
    await exchange(p, { ...form, client_secret: secret }, basic(`${id}:${secret}`)),
    await exchange(p, { ...form, client_id: open.client.client_id }, basic(`${id}:${secret}`)),
    await exchange(p, { ...form, client_id: open.client.client_id, client_secret: "any" }),
    await exchange(p, { ...form, client_id: "a\0b" }),
  ]
  for (const { status, body } of answers.slice(0, -1))
    assert.deepEqual([status, body.error, body.code], [401, "invalid_client", "oauth_invalid_client"])
  assert.match(answers[3]?.headers.get("www-authenticate") ?? "", /^Basic/)
  assert.equal((await exchange(p, form, basic(`${id}:${secret}`))).body.error, "invalid_grant")
  assert.equal(
    (await exchange(p, { ...form, client_id: id, client_secret: secret })).body.error,
    "invalid_grant",
  )
  for (const path of ["/v1/oauth/revoke", "/v1/oauth/introspect"])
    assert.equal((await postForm(p, path, { token: "x", client_id: id })).status, 401)
})

test("the token endpoint tells in OAuth's words what is wrong with a form", async t => {
  const p = await platform(t)
  const { client } = await newApp(p)
  const client_id = client.client_id
  const errorOf = async (form: Record<string, string>) => (await exchange(p, form)).body.error
  assert.equal(await errorOf({ grant_type: "password", client_id }), "unsupported_grant_type")
  assert.equal(await errorOf({ client_id }), "invalid_request")
  assert.equal(await errorOf({ grant_type: "authorization_code", client_id }), "invalid_request")
  assert.equal(await errorOf({ grant_type: "refresh_token", client_id }), "invalid_request")
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
  assert.equal(await errorOf({ grant_type, client_id, device_code: "x" }), "unauthorized_client")
  const resource = "https://elsewhere.example"
  assert.equal(
    await errorOf({ grant_type: "refresh_token", refresh_token: "x", client_id, resource }),
    "invalid_target",
  )
  const twice = await p.request("/v1/oauth/token", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: `grant_type=refresh_token&grant_type=refresh_token&client_id=${client_id}`,
  })
  assert.equal(((await twice.json()) as { error: string }).error, "invalid_request")
  const json = await p.request("/v1/oauth/token", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })
  assert.equal(json.status, 415)
})

test("a refresh token of one client is worth nothing to another", async t => {
  const p = await platform(t)
  const [app, thief] = await Promise.all([newApp(p), newApp(p)])
  const { access_token, refresh_token = "" } = await app.redeem(
    await approve(p, await app.url(), await p.session("acme")),
  )
  await assert.rejects(thief.refresh(refresh_token), { error: "invalid_grant" })
  assert.equal(await use(p, access_token), "ok")
})

test("a viewer connects nothing, and nobody connects a project that is not theirs", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const idOf = async () => (await openRequest(await app.url())).split("/").at(-1) ?? ""
  const { projectId: project_id } = await p.tenant("acme")
  const consent = async (person: Awaited<ReturnType<TestPlatform["person"]>>, more: object = {}) =>
    person.oauth.consent({ id: await idOf(), action: "approve", project_id, ...more })
  await assert.rejects(consent(await p.person("acme", "viewer")), { code: "role_insufficient" })
  await assert.rejects(consent(await p.person("other")), { code: "project_not_in_organization" })
  const elsewhere = { organization_id: (await p.tenant("other")).organizationId }
  await assert.rejects(consent(await p.person("acme"), elsewhere), { code: "project_not_in_organization" })
})
