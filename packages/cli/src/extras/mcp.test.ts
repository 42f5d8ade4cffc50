/** `svc mcp`, by the official client over standard input and output, and what it prints for other clients. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { everyScope, platform } from "../../../server/src/testing/platform.ts"
import { bin, openShell } from "../testing/command.ts"

const mcpWorld = async (t: TestContext) => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const shell = await openShell(t, p.url, secret)
  const connect = async (mode: "auto" | "legacy", args: readonly string[] = []) => {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } })
    const env = { ...shell.env, SVC_TOKEN: secret }
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [bin, "mcp", ...args], env }),
    )
    t.after(() => client.close())
    return client
  }
  return { ...shell, p, secret, connect }
}

for (const mode of ["auto", "legacy"] as const)
  test(`the official client calls tools through svc mcp (${mode} revision)`, async t => {
    const { connect, p, secret } = await mcpWorld(t)
    const client = await connect(mode, ["--toolsets=kv"])
    assert.match(client.getNegotiatedProtocolVersion() ?? "", mode === "auto" ? /^2026-/ : /^2025-/)
    const { tools } = await client.listTools()
    assert.ok(tools.some(({ name }) => name === "kv_exists"))
    const results = await Promise.all(
      ["a", "b", "c"].map(key => client.callTool({ name: "kv_set", arguments: { key, value: key } })),
    )
    assert.ok(results.every(({ isError }) => isError !== true))
    assert.equal((await p.as(secret).kv.get({ key: "b" })).value, "b")
    await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), /tool not found/)
  })

test("a line that is no message, a wrong key and a server that is away are answered, each with its id", async t => {
  const { run } = await mcpWorld(t)
  const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}\n'
  const answers = (out: string) =>
    out
      .trim()
      .split("\n")
      .map(line => JSON.parse(line) as { id: unknown; error?: { code: number; message: string } })
  const [broken, pinged] = answers((await run(["mcp"], { input: `{\n\n${ping}` })).out).sort(
    (a, b) => Number(a.id) - Number(b.id),
  )
  assert.deepEqual([broken?.id, broken?.error?.code], [null, -32_700])
  assert.deepEqual([pinged?.id, pinged?.error], [7, undefined])
  const [refused] = answers((await run(["mcp"], { input: ping, env: { SVC_TOKEN: "svc_sk_no" } })).out)
  assert.equal(refused?.id, 7)
  assert.match(refused?.error?.message ?? "", /^[a-z_]+: /)
  const away = { SVC_API_URL: "http://127.0.0.1:9" }
  const [unreachable] = answers((await run(["mcp"], { input: ping, env: away })).out)
  assert.match(unreachable?.error?.message ?? "", /cannot be reached/)
})

test("svc mcp install prints the configuration of each client without a key, and the operations keep their words", async t => {
  const { run, p, secret } = await mcpWorld(t)
  const all = await run(["mcp", "install", "--json", "--toolsets", "kv"])
  assert.equal(all.code, 0, all.err)
  assert.ok(!all.out.includes(secret))
  const documents = JSON.parse(all.out) as { client: string; content: Record<string, { svc: unknown }> }[]
  const of = (client: string) => documents.find(each => each.client === client)?.content
  assert.deepEqual(of("vscode")?.servers?.svc, {
    type: "http",
    url: `${p.url}/api/v1/mcp?toolsets=kv`,
    headers: { Authorization: `Bearer \${env:SVC_TOKEN}` },
  })
  assert.deepEqual(of("claude-desktop")?.mcpServers?.svc, {
    command: "svc",
    args: ["mcp", "--toolsets=kv"],
    env: { SVC_API_URL: p.url },
  })
  assert.match((await run(["mcp", "install", "cursor"])).out, /\.cursor\/mcp\.json/)
  assert.equal((await run(["mcp", "install", "nothing"])).code, 2)
  const called = await run(["mcp", "call", "search_tools", "--arguments", '{"query":"kv"}', "--json"])
  assert.equal(called.code, 0, called.err)
  assert.match((await run(["help", "mcp"])).out, /mcp install/)
})
