import assert from "node:assert/strict"
import { createHmac, createPublicKey } from "node:crypto"
import { test } from "node:test"
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose"
import { allowInsecureRequests, discovery } from "openid-client"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { ADMIN, browserOf, refusal, signUp } from "./testing/people.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const issuerOf = async (p: TestPlatform, tenant: string) =>
  (await p.as("").auth.discovery({ project_id: (await p.tenant(tenant)).projectId })).issuer

const kidsOf = async (p: TestPlatform, tenant: string) => {
  const { projectId } = await p.tenant(tenant)
  return (await p.as("").auth.jwks({ project_id: projectId })).keys.map(({ kid }) => kid)
}

test("jose verifies an access token by the published keys, and openid-client finds them by the issuer", async t => {
  const p = await platform(t)
  const ada = await signUp(p, "acme")
  const { projectId } = await p.tenant("acme")
  const issuer = await issuerOf(p, "acme")
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
  const currentDate = new Date(p.clock.now())
  const { payload, protectedHeader } = await jwtVerify(ada.access_token, keys, {
    issuer,
    audience: projectId,
    typ: "at+jwt",
    currentDate,
  })
  assert.equal(protectedHeader.alg, "ES256")
  assert.equal(payload.sub, ada.id)
  assert.deepEqual([payload.role, payload.aal, payload.amr], ["authenticated", "aal1", ["pwd"]])
  const config = await discovery(new URL(issuer), "any", undefined, undefined, {
    execute: [allowInsecureRequests],
  })
  assert.equal(config.serverMetadata().jwks_uri, `${issuer}/.well-known/jwks.json`)
})

test("tokens with another algorithm, key, type, issuer, audience or time are refused", async t => {
  const p = await platform(t)
  const ada = await signUp(p, "acme")
  const [head = "", body = "", signature = ""] = ada.access_token.split(".")
  const header = decodeProtectedHeader(ada.access_token)
  const claims = decodeJwt(ada.access_token)
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const { projectId } = await p.tenant("acme")
  const [jwk] = (await p.as("").auth.jwks({ project_id: projectId })).keys
  assert.ok(jwk)
  const pem = createPublicKey({ key: { ...jwk }, format: "jwk" }).export({ type: "spki", format: "pem" })
  const hmac = (text: string) => createHmac("sha256", pem).update(text).digest("base64url")
  const confused = `${encode({ ...header, alg: "HS256" })}.${body}`
  for (const token of [
    `${encode({ alg: "none", typ: "at+jwt" })}.${body}.`,
    `${encode({ ...header, alg: "none" })}.${body}.${signature}`,
    `${confused}.${hmac(confused)}`,
    `${encode({ ...header, kid: "../../etc" })}.${body}.${signature}`,
    `${head}.${encode({ ...claims, sub: "0199cf64-0000-7000-8000-000000000000" })}.${signature}`,
    `${head}.${encode({ ...claims, aud: [projectId, "x"] })}.${signature}`,
    `${head}.${body}.`,
    `${head}..${signature}`,
    "eyJ.e.e",
  ])
    assert.equal(await refusal(p.as(token).auth.getUser()), "token_invalid", token)
  await p.clock.advance(HOUR)
  assert.equal(await refusal(ada.own.auth.getUser()), "token_expired")
})

test("keys of another project sign no token for this one", async t => {
  const p = await platform(t)
  await signUp(p, "acme")
  const eve = await signUp(p, "globex")
  const { projectId } = await p.tenant("acme")
  const [head = "", , signature = ""] = eve.access_token.split(".")
  const claims = { ...decodeJwt(eve.access_token), aud: projectId, iss: await issuerOf(p, "acme") }
  const moved = `${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`
  assert.equal(await refusal(p.as(moved).auth.getUser()), "token_invalid")
})

test("a key signs after it was published, and stays published until its tokens have expired", async t => {
  const p = await platform(t)
  const admin = await p.client("acme", ...ADMIN)
  assert.equal(await refusal(admin.auth.rotateKeys()), "conflict")
  const ada = await signUp(p, "acme")
  const before = await kidsOf(p, "acme")
  assert.equal(before.length, 2)
  assert.equal(await refusal(admin.auth.rotateKeys()), "conflict")
  await p.clock.advance(15 * MINUTE)
  const { kid, next_kid } = await admin.auth.rotateKeys()
  assert.ok(before.includes(kid))
  assert.equal(before.includes(next_kid), false)
  assert.equal(await refusal(admin.auth.rotateKeys()), "conflict")
  // The old token is still good, and the next one is signed with the key that was published.
  assert.equal((await ada.own.auth.getUser()).id, ada.id)
  const browser = await browserOf(p, "acme")
  const refreshed = await browser.auth.refresh({ refresh_token: ada.refresh_token })
  assert.equal(decodeProtectedHeader(refreshed.access_token).kid, kid)
  assert.equal((await kidsOf(p, "acme")).length, 3)
})

test("two processes that sign a project's first tokens use one key", async t => {
  const p = await platform(t)
  const people = await Promise.all([1, 2, 3, 4].map(() => signUp(p, "acme")))
  const kids = new Set(people.map(({ access_token }) => decodeProtectedHeader(access_token).kid))
  assert.equal(kids.size, 1)
  for (const { own, id } of people) assert.equal((await own.auth.getUser()).id, id)
})

test("keys and issuer are told of projects that exist", async t => {
  const p = await platform(t)
  const nobody = { project_id: "0199cf64-0000-7000-8000-000000000000" }
  assert.equal(await refusal(p.as("").auth.jwks(nobody)), "project_not_found")
  assert.equal(await refusal(p.as("").auth.discovery(nobody)), "project_not_found")
  const response = await p.request(`/v1/auth/${(await p.tenant("acme")).projectId}/.well-known/jwks.json`)
  assert.match(response.headers.get("cache-control") ?? "", /max-age=600/)
})
