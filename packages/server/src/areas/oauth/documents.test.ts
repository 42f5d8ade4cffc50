/** Clients whose id is the URL of a document. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { openEndpoint, type ScriptedResponse } from "@svc/sdk/testing"
import { platform } from "../../testing/platform.ts"
import { openRequest, readPage } from "./testing/browser.ts"
import { newApp, REDIRECT_URI } from "./testing/programs.ts"

const HOUR_MS = 3_600_000

/** A client's own site, and the request that it makes. */
const openSite = async (t: TestContext, answer: (id: string) => ScriptedResponse, env: object = {}) => {
  const p = await platform(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.0/8", ...env } })
  const site = await openEndpoint(t, () => answer(id))
  const id = `${site.url}/client.json`
  const app = await newApp(p)
  const url = () => app.url({ client_id: id })
  const refusal = async () => {
    const response = await p.request(`/v1/oauth/authorize${(await url()).search}`, { redirect: "manual" })
    return ((await response.json()) as { error: string }).error
  }
  return { p, id, url, refusal, received: site.received }
}

const document = (client_id: string) => ({ client_id, client_name: "Editor", redirect_uris: [REDIRECT_URI] })

test("a client's document is its registration, and is read again after an hour", async t => {
  const { p, id, url, received } = await openSite(t, id => ({ body: document(id) }))
  const page = await readPage(await openRequest(await url()), await p.session("acme"))
  assert.match(page.html, /Connect Editor\?/)
  assert.ok(page.html.includes(id))
  await openRequest(await url())
  assert.equal(received.length, 1)
  await p.clock.advance(HOUR_MS)
  await openRequest(await url())
  assert.equal(received.length, 2)
})

test("a document of another client, with a secret, or that is none, is no client", async t => {
  let body: unknown
  const { id, refusal } = await openSite(t, () => ({ body }))
  for (const wrong of [
    document("https://editor.example.com/client.json"),
    { ...document(id), client_secret: "shared" },
    { ...document(id), token_endpoint_auth_method: "client_secret_basic" },
    { ...document(id), redirect_uris: [] },
    [],
    "no JSON",
  ]) {
    body = wrong
    assert.equal(await refusal(), "invalid_client_metadata", JSON.stringify(wrong))
  }
  body = { ...document(id), redirect_uris: ["https://elsewhere.example/cb"] }
  assert.equal(await refusal(), "invalid_redirect_uri")
})

test("a document that is missing, too large or on this network is not read", async t => {
  let answer: ScriptedResponse = { status: 404 }
  const { refusal } = await openSite(t, () => answer)
  assert.equal(await refusal(), "invalid_client_metadata")
  answer = { body: { padding: "x".repeat(100_000) } }
  assert.equal(await refusal(), "invalid_client_metadata")
  answer = { status: 302, headers: { location: "http://127.0.0.1:1/" } }
  assert.equal(await refusal(), "invalid_client_metadata")

  const guarded = await openSite(t, id => ({ body: document(id) }), { SVC_OUTBOUND_ALLOW: "" })
  assert.equal(await guarded.refusal(), "invalid_client_metadata")
  assert.equal(guarded.received.length, 0)
})
