import assert from "node:assert/strict"
import { createHash, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { decodeJwt, exportJWK, generateKeyPair, jwtVerify, SignJWT } from "jose"
import { PASSWORD, platform, type TestPlatform } from "../../testing/platform.ts"
import {
  answerOf,
  bring,
  CLIENT_SECRET,
  callbackOf,
  type OpenIdProvider,
  startOpenIdProvider,
} from "./testing/openid-provider.ts"
import { ADMIN, browserOf, newAddress, refusal, signUp, tokensOf } from "./testing/people.ts"

const PAGE = "https://app.example.com/welcome"
const OPEN = { env: { SVC_OUTBOUND_ALLOW: "127.0.0.1" } }

const newVerifier = () => randomBytes(32).toString("base64url")
const challengeOf = (verifier: string) => createHash("sha256").update(verifier).digest("base64url")

const shop = async (t: Parameters<typeof platform>[0], name = "okta", ...others: string[]) => {
  const p = await platform(t, OPEN)
  const provider = await startOpenIdProvider(t, p, name, ...others)
  const admin = await p.client("acme", ...ADMIN)
  await admin.auth.putSettings({ redirect_urls: [PAGE], anonymous: true })
  const shown = await admin.auth.putProvider({
    provider: name,
    client_id: "shop",
    client_secret: CLIENT_SECRET,
    issuer: provider.issuer,
    ...(name === "apple" && { team_id: "TEAM", key_id: "KEY", client_secret: APPLE_KEY }),
  })
  return { p, provider, admin, shown, browser: await browserOf(p, "acme") }
}

const apple = generateKeyPairSync("ec", { namedCurve: "P-256" })
const APPLE_KEY = apple.privateKey.export({ type: "pkcs8", format: "pem" }).toString()

/** Begins a sign-in in a browser of its own. */
const begin = async (p: TestPlatform, provider = "okta", own?: string) => {
  const verifier = newVerifier()
  const input = { provider, redirect_to: PAGE, code_challenge: challengeOf(verifier) }
  const { url } = await (own === undefined
    ? (await browserOf(p, "acme")).auth.startProvider(input)
    : p.as(own).auth.startLink(input))
  return { verifier, url }
}

/** A whole sign-in of the provider's present person. */
const signIn = async (p: TestPlatform, provider = "okta", own?: string) => {
  const { verifier, url } = await begin(p, provider, own)
  const { page } = await bring(p, await answerOf(p, url))
  const code = page?.searchParams.get("code") ?? ""
  const browser = await browserOf(p, "acme")
  return await browser.auth.exchange({ code, code_verifier: verifier })
}

const known = (provider: OpenIdProvider, email: string, verified = true) => {
  provider.person = { sub: randomBytes(8).toString("hex"), email, email_verified: verified, name: "Ada" }
}

test("a person of an OpenID provider signs in, and is the same user the next time", async t => {
  const { p, provider } = await shop(t)
  const email = newAddress()
  known(provider, email)
  const first = tokensOf(await signIn(p))
  assert.deepEqual([first.user.email, first.user.user_metadata], [email, { name: "Ada" }])
  assert.ok(first.user.email_confirmed_at)
  assert.deepEqual(decodeJwt(first.access_token).amr, ["oauth"])
  // Another address at the provider is no other person.
  provider.person = { ...provider.person, email: newAddress() }
  assert.equal(tokensOf(await signIn(p)).user.id, first.user.id)
  const own = p.as(first.access_token)
  const { identities } = await own.auth.listIdentities()
  assert.deepEqual(
    identities.map(one => [one.provider, one.email]),
    [["okta", provider.person.email]],
  )
  const enrolled = await own.auth.enroll({ friendly_name: "phone" })
  assert.equal(enrolled.factor_type, "totp")
})

test("a code works once, for who began the sign-in, in its project, for a minute", async t => {
  const { p, provider, browser } = await shop(t)
  known(provider, newAddress())
  const codeOf = async () => {
    const { verifier, url } = await begin(p)
    const { page } = await bring(p, await answerOf(p, url))
    assert.equal(`${page?.origin}${page?.pathname}`, PAGE)
    return { code: page?.searchParams.get("code") ?? "", code_verifier: verifier }
  }
  const whole = await codeOf()
  const both = await Promise.all([1, 2].map(() => refusal(browser.auth.exchange(whole))))
  assert.deepEqual(both.sort(), ["none", "token_invalid_or_expired"])
  const stolen = await codeOf()
  const stranger = await browserOf(p, "globex")
  assert.equal(await refusal(stranger.auth.exchange(stolen)), "token_invalid_or_expired")
  const guess = { ...stolen, code_verifier: newVerifier() }
  assert.equal(await refusal(browser.auth.exchange(guess)), "token_invalid_or_expired")
  assert.equal(await refusal(browser.auth.exchange(stolen)), "token_invalid_or_expired")
  const late = await codeOf()
  await p.clock.advance(61_000)
  assert.equal(await refusal(browser.auth.exchange(late)), "token_invalid_or_expired")
})

test("an answer that is repeated, changed, late, another provider's or another sign-in's signs nobody in", async t => {
  const { p, provider, admin } = await shop(t, "okta", "other")
  known(provider, newAddress())
  await admin.auth.putProvider({
    ...{ provider: "other", client_id: "shop", client_secret: CLIENT_SECRET, issuer: provider.issuer },
  })
  const answer = async () => (await answerOf(p, (await begin(p)).url)).url
  const errorOf = async (url: URL) => {
    const { status, page } = await bring(p, { url })
    return page?.searchParams.get("error") ?? (page?.searchParams.has("code") ? "signed in" : status)
  }
  const changed = (url: URL, name: string, value: string | null) => {
    const other = new URL(url)
    if (value === null) other.searchParams.delete(name)
    else other.searchParams.set(name, value)
    return other
  }
  const once = await answer()
  assert.equal(await errorOf(once), "signed in")
  assert.equal(await errorOf(once), 400)
  assert.equal(await errorOf(changed(await answer(), "state", "svc_ups_guess")), 400)
  // Mix-up: whoever answers must be whom the person was sent to (RFC 9207).
  assert.equal(await errorOf(changed(await answer(), "iss", "https://evil.example")), "provider_failed")
  assert.equal(await errorOf(changed(await answer(), "iss", null)), "provider_failed")
  const elsewhere = await answer()
  elsewhere.pathname = elsewhere.pathname.replace("okta", "other")
  assert.equal(await errorOf(elsewhere), 400)
  // The code of another sign-in is bound to that one's verifier and nonce.
  const [mine, theirs] = [await answer(), await answer()]
  const code = theirs.searchParams.get("code")
  assert.equal(await errorOf(changed(mine, "code", code)), "provider_failed")
  const denied = changed(changed(await answer(), "code", null), "error", "access_denied")
  assert.equal(await errorOf(denied), "access_denied")
  const late = await answer()
  await p.clock.advance(600_000)
  assert.equal(await errorOf(late), 400)
})

test("only a verified address leads to a user who is there, and ends what a stranger registered for it", async t => {
  const { p, provider, admin, browser } = await shop(t)
  const email = newAddress()
  const { id } = await admin.auth.createUser({ email, password: PASSWORD, email_confirmed: true })
  known(provider, email, false)
  assert.equal(await refusal(signIn(p)), "provider_email_unverified")
  known(provider, email.toUpperCase())
  assert.equal(tokensOf(await signIn(p)).user.id, id)
  tokensOf(await browser.auth.login({ email, password: PASSWORD }))

  const stranger = await signUp(p, "acme")
  known(provider, stranger.email)
  assert.equal(tokensOf(await signIn(p)).user.id, stranger.id)
  assert.equal(await refusal(stranger.own.auth.getUser()), "token_invalid")
  assert.equal(
    await refusal(browser.auth.login({ email: stranger.email, password: PASSWORD })),
    "invalid_credentials",
  )
  // An unverified address is nobody's, so that its owner can sign up.
  known(provider, newAddress(), false)
  const { user } = tokensOf(await signIn(p))
  assert.deepEqual([user.email, user.is_anonymous], [null, false])

  await admin.auth.putSettings({ redirect_urls: [PAGE], signup: "invitation" })
  known(provider, newAddress())
  assert.equal(await refusal(signIn(p)), "signup_disabled")
  const banned_until = new Date(p.clock.now() + 3_600_000).toISOString()
  known(provider, email)
  await admin.auth.manageUser({ id, banned_until })
  assert.equal(await refusal(signIn(p)), "user_banned")
})

test("a signed-in user links an identity, and the last way to sign in stays", async t => {
  const { p, provider, browser } = await shop(t)
  const email = newAddress()
  known(provider, email)
  const cart = await browser.auth.anonymous({ data: { cart: "7K2MQ" } })
  const linked = tokensOf(await signIn(p, "okta", cart.access_token))
  const { user } = linked
  assert.deepEqual([user.id, user.email, user.is_anonymous], [cart.user.id, email, false])
  assert.equal(tokensOf(await signIn(p)).user.id, cart.user.id)
  const ada = await signUp(p, "acme")
  assert.equal(await refusal(signIn(p, "okta", ada.access_token)), "conflict")
  const own = p.as(linked.access_token)
  const [identity] = (await own.auth.listIdentities()).identities
  assert.equal(await refusal(ada.own.auth.unlinkIdentity({ id: identity?.id ?? "" })), "resource_not_found")
  await own.auth.unlinkIdentity({ id: identity?.id ?? "" })
  assert.deepEqual((await own.auth.listIdentities()).identities, [])

  known(provider, newAddress(), false)
  const only = p.as(tokensOf(await signIn(p)).access_token)
  const [last] = (await only.auth.listIdentities()).identities
  assert.equal(await refusal(only.auth.unlinkIdentity({ id: last?.id ?? "" })), "conflict")
})

test("providers are the owner's to set, their secrets are never told, and go to their issuer alone", async t => {
  const { p, provider, admin, shown, browser } = await shop(t)
  assert.equal(shown.has_secret, true)
  assert.equal(shown.callback_url, callbackOf(p, "okta"))
  assert.ok(!JSON.stringify([shown, await admin.auth.listProviders()]).includes(CLIENT_SECRET))
  const rows = await p.database.db.selectFrom("auth.providers").selectAll().execute()
  assert.ok(!JSON.stringify(rows).includes(CLIENT_SECRET))
  const set = { provider: "okta", client_id: "shop" }
  assert.equal((await admin.auth.putProvider({ ...set, issuer: provider.issuer })).has_secret, true)
  assert.equal((await admin.auth.putProvider({ ...set, issuer: `${provider.issuer}/` })).has_secret, false)
  assert.equal(await refusal(admin.auth.putProvider(set)), "missing_parameter")
  for (const issuer of ["http://169.254.169.254/", "https://localhost:1", "https://a.example/?b", "nothing"])
    assert.equal(await refusal(admin.auth.putProvider({ ...set, issuer })), "invalid_parameter", issuer)
  const toApple = { provider: "apple", client_id: "shop", client_secret: "no key" }
  assert.equal(await refusal(admin.auth.putProvider(toApple)), "missing_parameter")
  assert.equal(
    await refusal(admin.auth.putProvider({ ...toApple, team_id: "T", key_id: "K" })),
    "invalid_parameter",
  )
  const { own } = await signUp(p, "acme")
  const start = (more: object, linking?: Svc) => {
    const input = { provider: "okta", redirect_to: PAGE, code_challenge: challengeOf("x"), ...more }
    return refusal(linking ? linking.auth.startLink(input) : browser.auth.startProvider(input))
  }
  const all = async (more: object) => [await start(more), await start(more, own)]
  const twice = (code: string) => [code, code]
  assert.deepEqual(await all({ redirect_to: "https://evil.example/" }), twice("redirect_not_allowed"))
  assert.deepEqual(await all({ provider: "google" }), twice("resource_not_found"))
  await admin.auth.putProvider({ ...set, issuer: `${provider.issuer}/nowhere` })
  assert.deepEqual(await all({}), twice("provider_unavailable"))
  await admin.auth.putProvider({ ...set, issuer: provider.issuer, enabled: false })
  assert.equal(await start({}), "resource_not_found")
  await admin.auth.deleteProvider({ provider: "okta" })
  assert.equal(await refusal(admin.auth.deleteProvider({ provider: "okta" })), "resource_not_found")
  const others = await p.client("globex", ...ADMIN)
  assert.deepEqual((await others.auth.listProviders()).providers, [])
})

test("Apple's answer comes as a form, and the client signs its secret", async t => {
  const { p, provider } = await shop(t, "apple")
  const secrets: string[] = []
  provider.takesSecret = secret => secrets.push(secret) > 0
  known(provider, newAddress())
  provider.person = { ...provider.person, email_verified: "true" }
  assert.equal(tokensOf(await signIn(p, "apple")).user.email, provider.person.email)
  const form = new URLSearchParams({ state: "svc_ups_guess", code: "c0de" })
  assert.equal((await bring(p, { url: new URL(callbackOf(p, "apple")), form })).status, 400)
  const { payload, protectedHeader } = await jwtVerify(secrets[0] ?? "", apple.publicKey, {
    audience: provider.issuer,
    issuer: "TEAM",
    subject: "shop",
    currentDate: new Date(p.clock.now()),
  })
  assert.deepEqual([protectedHeader.kid, typeof payload.exp], ["KEY", "number"])
})

test("an address at Microsoft counts as verified only where its domain is the tenant's own", async t => {
  const { p, provider, admin } = await shop(t, "microsoft")
  const email = newAddress()
  const { id } = await admin.auth.createUser({ email, email_confirmed: true })
  known(provider, email)
  assert.equal(await refusal(signIn(p, "microsoft")), "provider_email_unverified")
  provider.person = { ...provider.person, xms_edov: true }
  assert.equal(tokensOf(await signIn(p, "microsoft")).user.id, id)
})

test("a token of Microsoft is of the tenant that it names, and signed by the provider", async t => {
  const p = await platform(t, OPEN)
  const admin = await p.client("acme", ...ADMIN)
  await admin.auth.putSettings({ redirect_urls: [PAGE] })
  const [keys, others] = await Promise.all([generateKeyPair("ES256"), generateKeyPair("ES256")])
  const tid = randomUUID()
  const email = newAddress()
  let token: { nonce?: string; of?: string; key?: typeof keys.privateKey } = {}
  const answers: Record<string, () => unknown> = {
    "/common/v2.0/.well-known/openid-configuration": () => ({
      issuer: `${root}/{tenantid}/v2.0`,
      authorization_endpoint: `${root}/authorize`,
      token_endpoint: `${root}/token`,
      jwks_uri: `${root}/keys`,
      token_endpoint_auth_methods_supported: ["client_secret_post"],
      id_token_signing_alg_values_supported: ["ES256"],
    }),
    "/keys": async () => ({ keys: [{ ...(await exportJWK(keys.publicKey)), kid: "1", alg: "ES256" }] }),
    "/token": async () => ({
      access_token: "a",
      token_type: "bearer",
      id_token: await new SignJWT({ tid, email, xms_edov: "1", nonce: token.nonce ?? "" })
        .setProtectedHeader({ alg: "ES256", kid: "1" })
        .setIssuer(`${root}/${token.of ?? tid}/v2.0`)
        .setSubject("ada")
        .setAudience("shop")
        .setIssuedAt()
        .setExpirationTime("5m")
        .sign(token.key ?? keys.privateKey),
    }),
  }
  const server = createServer(async (request, response) => {
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify(await answers[request.url ?? ""]?.()))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => void server.close())
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer = `${root}/common/v2.0`
  await admin.auth.putProvider({ provider: "microsoft", client_id: "shop", client_secret: "s", issuer })
  const outcome = async (more: typeof token) => {
    const { url } = await begin(p, "microsoft")
    const { searchParams } = new URL(url)
    token = { nonce: searchParams.get("nonce") ?? "", ...more }
    const back = new URL(callbackOf(p, "microsoft"))
    back.searchParams.set("code", "c0de")
    back.searchParams.set("state", searchParams.get("state") ?? "")
    const { page } = await bring(p, { url: back })
    return page?.searchParams.get("error") ?? "signed in"
  }
  assert.equal(await outcome({}), "signed in")
  assert.equal(await outcome({ of: randomUUID() }), "provider_failed")
  assert.equal(await outcome({ key: others.privateKey }), "provider_failed")
  assert.equal(await outcome({ nonce: "another sign-in's" }), "provider_failed")
})

test("a person of GitHub signs in by the primary address that GitHub has verified", async t => {
  const { p, admin } = await shop(t)
  const address = newAddress()
  let verified = false
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`)
    response.setHeader("content-type", "application/json")
    const emails = [
      { email: newAddress(), primary: false, verified: true },
      { email: address, primary: true, verified },
    ]
    const answers: Record<string, unknown> = {
      "/login/oauth/access_token": {
        access_token: "gho_1",
        token_type: "bearer",
        scope: "read:user,user:email",
      },
      "/api/v3/user": { id: 42, login: "ada", name: "Ada" },
      "/api/v3/user/emails": emails,
    }
    response.end(JSON.stringify(answers[request.url ?? ""] ?? {}))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => void server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await admin.auth.putProvider({ provider: "github", client_id: "shop", client_secret: "s", issuer })
  const browser = await browserOf(p, "acme")
  const viaGithub = async () => {
    const { verifier, url } = await begin(p, "github")
    const { pathname, searchParams } = new URL(url)
    assert.deepEqual(
      [pathname, searchParams.get("scope")],
      ["/login/oauth/authorize", "read:user user:email"],
    )
    const back = new URL(callbackOf(p, "github"))
    back.searchParams.set("code", "c0de")
    back.searchParams.set("state", searchParams.get("state") ?? "")
    const { page } = await bring(p, { url: back })
    const code = page?.searchParams.get("code") ?? ""
    return await browser.auth.exchange({ code, code_verifier: verifier })
  }
  const { id } = await admin.auth.createUser({ email: address, email_confirmed: true })
  assert.equal(await refusal(viaGithub()), "provider_email_unverified")
  verified = true
  assert.equal(tokensOf(await viaGithub()).user.id, id)
  assert.ok(asked.includes("GET /api/v3/user Bearer gho_1"))
})
