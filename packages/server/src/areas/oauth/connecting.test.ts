/** From the request to tokens and their end, by programs of others as they are. */
import assert from "node:assert/strict"
import { test } from "node:test"
import * as oauth from "oauth4webapi"
import { withPhone } from "../../core/accounts/testing/phone.ts"
import { use } from "../../core/keys/testing/use.ts"
import { everyScope, PASSWORD, platform } from "../../testing/platform.ts"
import { approve, decide, openRequest, readPage, submit } from "./testing/browser.ts"
import { insecure, newApp, postForm } from "./testing/programs.ts"

const HOUR_MS = 3_600_000

test("a person connects an app on a page without script, and its token does what was consented to", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const app = await newApp(p)
  const answer = await approve(p, await app.url(), session)
  assert.equal(answer.searchParams.get("iss"), p.config.baseUrl)

  const tokens = await app.redeem(answer)
  assert.match(tokens.access_token, /^svc_oat_/)
  assert.deepEqual([tokens.expires_in, tokens.scope], [28_800, "kv:read kv:write offline_access"])
  assert.equal(await use(p, tokens.access_token), "ok")

  const me = await p.as(tokens.access_token).identity.me()
  assert.deepEqual([me.key?.type, me.key?.require_approval], ["oauth", true])
  assert.deepEqual([...me.scopes].sort(), ["kv:read", "kv:write"])
  assert.equal(me.project?.id, (await p.tenant("acme")).projectId)

  await p.clock.advance(8 * HOUR_MS)
  assert.equal(await use(p, tokens.access_token), "api_key_expired")
})

test("scopes that the person takes away are not granted", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const answer = await approve(p, await app.url(), await p.session("acme"), { scopes: ["kv:write"] })
  const tokens = await app.redeem(answer)
  assert.equal(tokens.scope, "kv:write")
  assert.equal(tokens.refresh_token, undefined)
  assert.equal(await use(p, tokens.access_token), "missing_scope")
})

test("what is high-risk waits for a person, though the app was connected", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const { access_token } = await app.redeem(await approve(p, await app.url(), await p.session("acme")))
  const response = await p.request("/v1/probe/danger", {
    method: "POST",
    headers: { authorization: `Bearer ${access_token}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "a" }),
  })
  assert.equal(response.status, 202)
})

test("a refusal goes back to the app as access_denied, and gives it nothing", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const answer = await approve(p, await app.url(), await p.session("acme"), { action: "deny" })
  assert.equal(answer.searchParams.get("error"), "access_denied")
  assert.equal(answer.searchParams.get("iss"), p.config.baseUrl)
  assert.equal(answer.searchParams.get("code"), null)
})

test("a person without a session signs in on the page", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { email } = await person.account.get()
  const app = await newApp(p)
  const consentUrl = await openRequest(await app.url())
  const page = await readPage(consentUrl)
  assert.match(page.html, /type="password"/)
  assert.doesNotMatch(page.html, /<script/)

  const path = `${new URL(consentUrl).pathname}/sign-in`
  const wrong = await submit(p, path, { email, password: "a wrong password" })
  assert.equal(wrong.status, 200)
  assert.match(await wrong.text(), /role="alert"/)
  const right = await submit(p, path, { email, password: "correct horse battery" })
  assert.deepEqual([right.status, right.headers.get("location")], [303, consentUrl])
  const cookie = right.headers.get("set-cookie")?.split(";")[0] ?? ""
  assert.equal((await decide(p, consentUrl, { cookie, origin: p.url })).status, 303)
})

test("where there are several projects one must be chosen, and the token is of that one", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const { projectId } = await p.tenant("acme")
  const owner = p.as("", { headers: session })
  const other = (await owner.projects.create({ name: "other" })).id
  const app = await newApp(p)
  const consentUrl = await openRequest(await app.url())
  const page = await readPage(consentUrl, session)
  assert.deepEqual(page.projects.sort(), [projectId, other].sort())
  const unchosen = await decide(p, consentUrl, session)
  assert.equal(unchosen.status, 400)
  const chosen = await decide(p, consentUrl, session, { project: other })
  const tokens = await app.redeem(new URL(chosen.location))
  assert.equal((await p.as(tokens.access_token).identity.me()).project?.id, other)
})

test("the rows as JSON do what the page does", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const app = await newApp(p)
  const id = (await openRequest(await app.url())).split("/").at(-1) ?? ""
  const asked = await person.oauth.getAuthorization({ id })
  assert.equal(asked.client.name, "Notes")
  assert.equal(asked.projects.length, 1)
  const refused = person.oauth.consent({ id, action: "approve", scopes: ["kv:read", "storage:read"] })
  await assert.rejects(refused, { code: "invalid_scope" })
  const { redirect_url } = await person.oauth.consent({ id, action: "approve", scopes: ["kv:read"] })
  assert.equal((await app.redeem(new URL(redirect_url ?? ""))).scope, "kv:read")
  await assert.rejects(person.oauth.consent({ id, action: "deny" }), { code: "resource_not_found" })
  await assert.rejects(person.oauth.getAuthorization({ id }), { code: "resource_not_found" })
})

test("a refresh token is replaced at each use, for ten seconds it can be repeated, and reuse ends the connection", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const first = await app.redeem(await approve(p, await app.url(), await p.session("acme")))
  const old = first.refresh_token ?? ""
  await p.clock.advance(HOUR_MS)
  const second = await app.refresh(old)
  assert.notEqual(second.refresh_token, old)
  assert.equal(await use(p, second.access_token), "ok")
  await p.clock.advance(9_000)
  const repeated = await app.refresh(old)
  assert.equal(repeated.refresh_token, second.refresh_token)
  assert.equal(await use(p, second.access_token), "ok")
  await p.clock.advance(2_000)
  assert.equal(await use(p, first.access_token), "api_key_expired")

  await assert.rejects(app.refresh(old), { error: "invalid_grant" })
  assert.equal(await use(p, repeated.access_token), "api_key_revoked")
  await assert.rejects(app.refresh(second.refresh_token ?? ""), { error: "invalid_grant" })
})

test("a refresh may ask for fewer scopes and not for more, and ends after 90 days", async t => {
  const p = await platform(t)
  const app = await newApp(p)
  const first = await app.redeem(await approve(p, await app.url(), await p.session("acme")))
  const fewer = await app.refresh(first.refresh_token ?? "", { scope: "kv:write" })
  assert.equal(await use(p, fewer.access_token), "missing_scope")
  const more = app.refresh(fewer.refresh_token ?? "", { scope: "kv:read storage:read" })
  await assert.rejects(more, { error: "invalid_scope" })
  await p.clock.advance(90 * 24 * HOUR_MS)
  await assert.rejects(app.refresh(fewer.refresh_token ?? ""), { error: "invalid_grant" })
})

test("a client learns of its own tokens alone, and giving one back ends the connection", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const [app, other] = await Promise.all([newApp(p), newApp(p)])
  const tokens = await app.redeem(await approve(p, await app.url(), session))
  const describe = async ({ server, client }: typeof app, token: string) =>
    oauth.processIntrospectionResponse(
      server,
      client,
      await oauth.introspectionRequest(server, client, oauth.None(), token, insecure),
    )
  const known = await describe(app, tokens.access_token)
  assert.deepEqual(
    [known.active, known.scope, known.client_id],
    [true, "kv:read kv:write", app.client.client_id],
  )
  assert.equal((await describe(app, tokens.refresh_token ?? "")).active, true)
  assert.deepEqual(await describe(other, tokens.access_token), { active: false })
  assert.deepEqual(await describe(app, (await p.key("acme", everyScope)).secret), { active: false })

  const giveBack = ({ server, client }: typeof app) =>
    oauth.revocationRequest(server, client, oauth.None(), tokens.refresh_token ?? "", insecure)
  await oauth.processRevocationResponse(await giveBack(other))
  assert.equal(await use(p, tokens.access_token), "ok")
  await oauth.processRevocationResponse(await giveBack(app))
  assert.equal(await use(p, tokens.access_token), "api_key_revoked")
  assert.deepEqual(await describe(app, tokens.access_token), { active: false })
})

test("connected apps are listed by name, counted past the end, and disconnected by name", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const owner = p.as("", { headers: session })
  const connect = async () => {
    const app = await newApp(p)
    return app.redeem(await approve(p, await app.url(), session))
  }
  const tokens = [await connect(), await connect()]
  const { data, total } = await owner.connectedApps.list()
  assert.deepEqual([data.map(({ name }) => name), total], [["Notes 2", "Notes"], 2])
  assert.deepEqual(data[0]?.scopes, ["kv:read", "kv:write", "offline_access"])
  const past = await owner.connectedApps.list({ offset: 5 })
  assert.deepEqual([past.data, past.total], [[], 2])
  const member = await p.person("acme", "member")
  assert.equal((await member.connectedApps.list()).total, 0)
  await assert.rejects(member.connectedApps.disconnect({ name: "Notes" }), {
    code: "connected_app_not_found",
  })

  await owner.connectedApps.disconnect({ name: "notes" })
  assert.equal(await use(p, tokens[0]?.access_token ?? ""), "api_key_revoked")
  assert.equal(await use(p, tokens[1]?.access_token ?? ""), "ok")
  assert.equal((await owner.connectedApps.list()).total, 1)
})

test("a person who left the organization takes their connections along", async t => {
  const p = await platform(t)
  const session = await p.session("acme", "member")
  const { organizationId } = await p.tenant("acme")
  const app = await newApp(p)
  const tokens = await app.redeem(await approve(p, await app.url(), session))
  const { id } = await p.as("", { headers: session }).account.get()
  const owner = await p.person("acme")
  await owner.organizations.removeMember({ org_id: organizationId, user_id: id })
  assert.equal(await use(p, tokens.access_token), "api_key_revoked")
  await assert.rejects(app.refresh(tokens.refresh_token ?? ""), { error: "invalid_grant" })
  assert.equal((await owner.connectedApps.list()).total, 0)
})

test("a connected app counts as an API key of the plan", async t => {
  const p = await platform(t)
  await p.tenant("small", "free")
  const session = await p.session("small")
  const app = await newApp(p)
  const waiting = await openRequest(await app.url())
  const { location } = await decide(p, waiting, session)
  const late = await openRequest(await app.url())
  for (let made = 0; made < 20; made++) {
    const done = await p
      .as("", { headers: session })
      .keys.create({ name: "k", type: "secret", scopes: ["kv:read"] })
      .catch(error => error)
    if (done.code) assert.equal(done.code, "plan_limit_reached")
  }
  const id = late.split("/").at(-1) ?? ""
  const consent = p.as("", { headers: session }).oauth.consent({ id, action: "approve" })
  await assert.rejects(consent, { code: "plan_limit_reached" })
  assert.equal((await decide(p, late, session)).status, 402)
  const code = new URL(location).searchParams.get("code") ?? ""
  const client_id = app.client.client_id
  const form = { grant_type: "authorization_code", client_id, code, code_verifier: app.verifier }
  const { status, body } = await postForm(p, "/v1/oauth/token", form)
  assert.deepEqual([status, body.error, body.code], [402, "access_denied", "plan_limit_reached"])
})

test("who has a second factor gives its code on the page, and signs in with nothing less", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const consent = await openRequest(await (await newApp(p)).url())
  const { pathname } = new URL(consent)
  const begin = async () => {
    const asked = await submit(p, `${pathname}/sign-in`, { email: ada.email, password: PASSWORD })
    assert.deepEqual([asked.status, asked.headers.get("set-cookie")], [200, null])
    const html = await asked.text()
    return /name="mfa_token" value="([^"]+)"/.exec(html)?.[1] ?? assert.fail(html)
  }
  const give = (mfa_token: string, code: string, headers = {}) =>
    submit(p, `${pathname}/code`, { mfa_token, code }, headers)
  const token = await begin()
  const wrong = await give(token, "000000")
  assert.equal(wrong.headers.get("set-cookie"), null)
  assert.match(await wrong.text(), /role="alert"/)
  const foreign = await give(token, await ada.phone.code(), { origin: "https://evil.example" })
  assert.equal(foreign.headers.get("x-error-code"), "csrf_failed")

  const done = await give(token, await ada.phone.code())
  assert.deepEqual([done.status, done.headers.get("location")], [303, consent])
  const cookie = done.headers.get("set-cookie")?.split(";")[0] ?? ""
  assert.match((await readPage(consent, { cookie })).html, new RegExp(ada.email))

  const late = await begin()
  await p.clock.advance(5 * 60_000)
  const expired = await (await give(late, await ada.phone.code())).text()
  assert.match(expired, /name="password"/)
  const unknown = await submit(p, "/oauth/consent/0199cf64-0000-7000-8000-000000000000/code", {
    mfa_token: token,
    code: "123456",
  })
  assert.equal(unknown.headers.get("x-error-code"), "resource_not_found")
})
