/** Tools by the two rows: which there are, that they act as their operations do, and what is done when they are refused. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { everyScope, platform } from "../../testing/platform.ts"

const namesOf = async (svc: Svc, toolsets?: string): Promise<string[]> => {
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await svc.mcp.list({ ...(toolsets && { toolsets }), ...(cursor && { cursor }) })
    names.push(...page.tools.map(({ name }) => name))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return names
}

const textOf = ({ content }: { content: { type: string; text?: string }[] }): string => content[0]?.text ?? ""

test("the default list is small, and toolsets widen it to every operation that the key's scopes admit", async t => {
  const p = await platform(t)
  const all = await p.client("acme", ...everyScope)
  const byDefault = await namesOf(all)
  assert.ok(byDefault.length <= 24, `${byDefault.length}`)
  for (const name of [
    "search_tools",
    "describe_tool",
    "call_tool",
    "wait_for_approval",
    "execute_sql",
    "kv_get",
  ])
    assert.ok(byDefault.includes(name), name)
  const everything = await namesOf(all, "all")
  assert.ok(everything.length > 200, `${everything.length}`)
  assert.equal(new Set(everything).size, everything.length)
  for (const hidden of [
    "call_mcp_tool",
    "list_mcp_tools",
    "approve_approval",
    "create_key",
    "sandbox_terminal",
  ])
    assert.ok(!everything.includes(hidden), hidden)

  const reader = await p.client("acme", "kv:read")
  assert.deepEqual(
    (await namesOf(reader, "kv")).filter(name => name.startsWith("kv_")),
    ["kv_get", "kv_exists", "kv_keys"],
  )
  assert.ok(!(await namesOf(reader)).includes("execute_sql"))
  await assert.rejects(reader.mcp.list({ toolsets: "kv,__proto__" }), { code: "invalid_parameter" })
})

test("a tool has the flat input of its operation and hints from its effect", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const { tools } = await svc.mcp.list({ toolsets: "kv,databases" })
  const tool = (wanted: string) => {
    const found = tools.find(({ name }) => name === wanted)
    assert.ok(found, wanted)
    return found
  }
  assert.equal(tool("kv_get").annotations.readOnlyHint, true)
  assert.deepEqual((tool("kv_get").inputSchema as { required: unknown }).required, ["key"])
  assert.equal(tool("delete_database").annotations.destructiveHint, true)
  assert.equal(tool("create_database_branch").annotations.destructiveHint, false)
  const branch = tool("create_database_branch").inputSchema as { properties: object; required: string[] }
  assert.ok(branch.required.includes("id"))
  assert.ok("name" in branch.properties)
})

test("a call acts as its operation does, in the key's project, and is audited as the operation", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const set = await svc.mcp.call({ name: "kv_set", arguments: { key: "color", value: "blue" } })
  assert.equal(set.isError, false)
  const get = await svc.mcp.call({ name: "kv_get", arguments: { key: "color" } })
  assert.equal((get.structuredContent as { value: unknown }).value, "blue")
  assert.deepEqual(JSON.parse(textOf(get)), get.structuredContent)
  assert.equal((await svc.kv.get({ key: "color" })).value, "blue")

  await svc.mcp.call({ name: "create_bucket", arguments: { name: "files" } })
  const actions = await p.database.db
    .selectFrom("core.audit_events")
    .select("action")
    .where("action", "in", ["storage.createBucket", "mcp.call"])
    .execute()
  assert.deepEqual(actions, [{ action: "storage.createBucket" }])
})

test("a large number keeps its digits through a tool", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const response = await p.request("/api/v1/mcp/call", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: '{"name":"kv_set","arguments":{"key":"n","value":9007199254740993}}',
  })
  assert.equal(response.status, 200)
  const read = await p.as(secret).mcp.call({ name: "kv_get", arguments: { key: "n" } })
  assert.match(textOf(read), /9007199254740993/)
})

test("a file goes into a bucket and comes back as text, an image or bytes", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const call = (name: string, given: Record<string, unknown>) => svc.mcp.call({ name, arguments: given })
  await call("create_bucket", { name: "files" })
  const stored = await call("put_object", { bucket: "files", key: "a/b.txt", content: "héllo" })
  assert.equal(stored.isError, false, textOf(stored))
  assert.equal(textOf(await call("get_object", { bucket: "files", key: "a/b.txt" })), "héllo")

  const content_base64 = Buffer.from([0x89, 0x50, 0, 255]).toString("base64")
  await call("put_object", { bucket: "files", key: "i", content_base64, content_type: "image/png" })
  const image = await call("get_object", { bucket: "files", key: "i" })
  assert.deepEqual(image.content, [{ type: "image", data: content_base64, mimeType: "image/png" }])
  const neither = await call("put_object", { bucket: "files", key: "n" })
  assert.deepEqual(
    [neither.isError, textOf(neither)],
    [true, "invalid_parameter: a parameter is not valid: content is required, as text"],
  )
})

test("what a tool refuses is a result with isError, and names the field", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const wrong = await svc.mcp.call({ name: "kv_set", arguments: { key: "a", value: 1, colour: "red" } })
  assert.equal(wrong.isError, true)
  assert.match(textOf(wrong), /validation_failed.*colour/s)
  const missing = await svc.mcp.call({ name: "get_bucket", arguments: { name: "nowhere" } })
  assert.match(textOf(missing), /^bucket_not_found: /)
  assert.equal(missing.isError, true)
})

test("search finds tools by words, describe shows one, and call_tool calls it", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const found = await svc.mcp.call({ name: "search_tools", arguments: { query: "create a bucket" } })
  const { tools } = found.structuredContent as { tools: { name: string }[] }
  assert.equal(tools[0]?.name, "create_bucket")
  const shown = await svc.mcp.call({ name: "describe_tool", arguments: { name: "create_bucket" } })
  assert.equal((shown.structuredContent as { toolset: string }).toolset, "storage")
  const arguments_ = { name: "create_bucket", arguments: { name: "found" } }
  const called = await svc.mcp.call({ name: "call_tool", arguments: arguments_ })
  assert.equal(called.isError, false, textOf(called))
  assert.equal((await svc.storage.getBucket({ name: "found" })).name, "found")
})

test("a result is cut to a size that a model can read", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  await svc.kv.set({ key: "long", value: "x".repeat(100_000) })
  const cut = await svc.mcp.call({ name: "kv_get", arguments: { key: "long" } })
  assert.equal(textOf(cut).length, 40_000)
  assert.equal(cut.structuredContent, undefined)
})

test("a client that asks for a stream of messages is told that there is none", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const headers = { authorization: `Bearer ${secret}`, accept: "text/event-stream" }
  const response = await p.request("/api/v1/mcp", { headers })
  assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"])
})
