/** The protocol, by the official client as it is. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { everyScope, platform, type TestPlatform } from "../../testing/platform.ts"

const connect = async (p: TestPlatform, secret: string, mode: "auto" | "legacy", query = "") => {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } })
  const headers = { authorization: `Bearer ${secret}` }
  const url = new URL(`${p.url}/api/v1/mcp${query}`)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  return client
}

const revisions = { auto: /^2026-/, legacy: /^2025-/ }

for (const mode of ["auto", "legacy"] as const) {
  test(`the official client lists and calls tools (${mode} revision)`, async t => {
    const p = await platform(t)
    const { secret } = await p.key("acme", everyScope)
    const client = await connect(p, secret, mode)
    assert.match(client.getNegotiatedProtocolVersion() ?? "", revisions[mode])
    const { tools } = await client.listTools()
    assert.ok(tools.length <= 24 && tools.some(({ name }) => name === "execute_sql"))
    const set = await client.callTool({ name: "kv_set", arguments: { key: "color", value: "blue" } })
    assert.notEqual(set.isError, true)
    assert.equal((await p.as(secret).kv.get({ key: "color" })).value, "blue")
    const refused = await client.callTool({ name: "kv_set", arguments: { key: 1 } })
    assert.equal(refused.isError, true)
    await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), /tool not found/)
    await client.close()
  })
}

test("toolsets in the address widen the list, and a missing scope is told to the model", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:read"])
  const client = await connect(p, secret, "auto", "?toolsets=kv")
  const { tools } = await client.listTools()
  assert.ok(tools.some(({ name }) => name === "kv_exists"))
  const refused = await client.callTool({ name: "kv_set", arguments: { key: "a", value: 1 } })
  assert.equal(refused.isError, true)
  assert.match(JSON.stringify(refused.content), /missing_scope/)
  await client.close()
})

test("a foreign page, a batch and a wrong key are refused before anything is done", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    p.request("/api/v1/mcp", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    })
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" }
  const foreign = await send(ping, { origin: "https://evil.example" })
  assert.equal(((await foreign.json()) as { code: string }).code, "csrf_failed")
  assert.equal((await send([ping, ping])).status, 400)
  assert.equal((await send(ping, { authorization: "Bearer svc_sk_wrong" })).status, 401)
  assert.equal((await send(ping, { "content-type": "text/plain" })).status, 415)
  assert.equal((await send(ping)).status, 200)
  assert.equal((await p.request("/api/v1/mcp", { method: "DELETE" })).status, 405)
})
