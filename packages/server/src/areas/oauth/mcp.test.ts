/** The official MCP package finds its way from a 401 to a token by itself. */
import assert from "node:assert/strict"
import { test } from "node:test"
import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client"
import { platform } from "../../testing/platform.ts"
import { approve } from "./testing/browser.ts"
import { REDIRECT_URI } from "./testing/programs.ts"

/** What an app keeps. */
const newProvider = () => {
  const kept: {
    client?: StoredOAuthClientInformation
    tokens?: StoredOAuthTokens
    verifier: string
    opened?: URL
  } = { verifier: "" }
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT_URI,
    clientMetadata: {
      client_name: "Agent",
      redirect_uris: [REDIRECT_URI],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => kept.client,
    saveClientInformation(client) {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens
    },
    redirectToAuthorization(url) {
      kept.opened = url
    },
    saveCodeVerifier(verifier) {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier,
  }
  return { kept, provider }
}

test("the MCP package connects, is sent to the consent page, and calls tools with what it got", async t => {
  const p = await platform(t)
  const { kept, provider } = newProvider()
  const open = () =>
    new StreamableHTTPClientTransport(new URL(`${p.config.baseUrl}/api/v1/mcp`), { authProvider: provider })
  const first = open()
  await assert.rejects(new Client({ name: "agent", version: "1" }).connect(first), UnauthorizedError)
  assert.ok(kept.opened && kept.client)

  const answer = await approve(p, kept.opened, await p.session("acme"))
  await first.finishAuth(answer.searchParams)
  assert.match(kept.tokens?.access_token ?? "", /^svc_oat_/)

  const client = new Client({ name: "agent", version: "1" })
  await client.connect(open())
  const set = await client.callTool({ name: "kv_set", arguments: { key: "color", value: "blue" } })
  assert.notEqual(set.isError, true)
  await client.close()

  // Its access token ends, and it renews it by itself.
  const before = kept.tokens?.access_token
  await p.clock.advance(8 * 3_600_000)
  const later = new Client({ name: "agent", version: "1" })
  await later.connect(open())
  const got = await later.callTool({ name: "kv_get", arguments: { key: "color" } })
  assert.match(JSON.stringify(got.content), /blue/)
  assert.notEqual(kept.tokens?.access_token, before)
  await later.close()
})
