/** Metadata and registration, by programs of others as they are. */
import assert from "node:assert/strict"
import { test } from "node:test"
import * as oauth from "oauth4webapi"
import { platform } from "../../testing/platform.ts"
import { watchedFetch } from "../../testing/watch.ts"
import { insecure } from "./testing/programs.ts"

const post = async (p: { url: string }, body: unknown) => {
  const response = await watchedFetch(`${p.url}/v1/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

test("a client finds the server, registers and gets back what it may use", async t => {
  const p = await platform(t)
  const issuer = new URL(p.url)
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure })
  const server = await oauth.processDiscoveryResponse(new URL(p.config.baseUrl), found)
  assert.deepEqual(server.code_challenge_methods_supported, ["S256"])

  const metadata = { client_name: "Notes", redirect_uris: ["http://127.0.0.1/cb"], unknown_field: 1 }
  const answer = await oauth.dynamicClientRegistrationRequest(server, metadata, insecure)
  const client = await oauth.processDynamicClientRegistrationResponse(answer)
  assert.equal(client.token_endpoint_auth_method, "none")
  assert.deepEqual(client.grant_types, ["authorization_code", "refresh_token"])
  assert.equal(client.client_secret, undefined)

  const confidential = {
    ...metadata,
    token_endpoint_auth_method: "client_secret_basic",
    scope: "kv:read made:up",
  }
  const second = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(server, confidential, insecure),
  )
  assert.ok(second.client_secret)
  assert.equal(second.scope, "kv:read")
})

test("both documents list the same scopes, and every 401 names the one that says where tokens come from", async t => {
  const p = await platform(t)
  const read = async (path: string) => (await (await p.request(path)).json()) as Record<string, unknown>
  const server = await read("/.well-known/oauth-authorization-server")
  const resource = await read("/.well-known/oauth-protected-resource")
  const mcp = await read("/.well-known/oauth-protected-resource/api/v1/mcp")

  assert.deepEqual(resource.scopes_supported, server.scopes_supported)
  assert.ok((server.scopes_supported as string[]).includes("offline_access"))
  assert.deepEqual(resource.authorization_servers, [server.issuer])
  assert.equal(mcp.resource, `${resource.resource}/api/v1/mcp`)

  const named = `resource_metadata="${p.config.baseUrl}/.well-known/oauth-protected-resource"`
  const bare = await p.request("/api/v1/mcp", { method: "GET" })
  assert.deepEqual([bare.status, bare.headers.get("www-authenticate")], [401, `Bearer ${named}`])
  const wrong = await p.request("/v1/me", { headers: { authorization: "Bearer svc_sk_wrong" } })
  assert.equal(wrong.headers.get("www-authenticate"), `Bearer error="invalid_token", ${named}`)
})

test("a redirect URI that a browser would run, leak or send in the clear is not registered", async t => {
  const p = await platform(t)
  for (const uri of [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "data:text/html,x",
    "http://notes.example.com/cb",
    "https://notes.example.com/cb#fragment",
    "https://user@notes.example.com/cb",
    "https:\\\\notes.example.com/cb",
    "https://notes.example.com/\r\nset-cookie: a",
    "/callback",
  ]) {
    const { status, body } = await post(p, { redirect_uris: ["https://notes.example.com/cb", uri] })
    assert.deepEqual(
      [status, body.error, body.code],
      [400, "invalid_redirect_uri", "oauth_invalid_redirect_uri"],
      uri,
    )
    assert.ok(body.error_description && body.docs_url && body.request_id)
  }
})

test("metadata that cannot be used is refused in OAuth's words", async t => {
  const p = await platform(t)
  const redirect_uris = ["https://notes.example.com/cb"]
  for (const fields of [{ grant_types: ["password"] }, { logo_uri: "javascript:alert(1)" }]) {
    const { status, body } = await post(p, { redirect_uris, ...fields })
    assert.deepEqual([status, body.error], [400, "invalid_client_metadata"])
  }
  assert.equal((await post(p, {})).body.error, "invalid_request")
  assert.equal((await post(p, { redirect_uris: Array(11).fill(redirect_uris[0]) })).status, 400)
})
