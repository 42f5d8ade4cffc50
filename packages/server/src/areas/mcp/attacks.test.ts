/** A caller reaches no more through a tool than through the operation itself. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { everyScope, platform } from "../../testing/platform.ts"

test("a tool without its scope is 403, one that is unknown 404, by itself and through call_tool", async t => {
  const p = await platform(t)
  const reader = await p.client("acme", "kv:read")
  const set = { name: "kv_set", arguments: { key: "a", value: 1 } }
  await assert.rejects(reader.mcp.call(set), { status: 403, code: "missing_scope" })
  await assert.rejects(reader.mcp.call({ name: "call_tool", arguments: set }), { code: "missing_scope" })
  for (const name of ["nothing", "__proto__", "constructor", "toString", "kv.set", "s3_list_buckets"]) {
    await assert.rejects(reader.mcp.call({ name }), { status: 404, code: "tool_not_found" }, name)
    const nested = { name: "call_tool", arguments: { name } }
    await assert.rejects(reader.mcp.call(nested), { status: 404, code: "tool_not_found" }, name)
  }
})

test("call_tool calls neither itself nor another tool of MCP", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  for (const name of ["call_tool", "call_mcp_tool", "list_mcp_tools", "search_tools", "mcp_message"]) {
    const nested = { name: "call_tool", arguments: { name, arguments: { name: "kv_get" } } }
    await assert.rejects(svc.mcp.call(nested), { status: 404, code: "tool_not_found" }, name)
  }
})

test("a read-only key changes nothing by a tool", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  await svc.sql.execute({ sql: "CREATE TABLE notes (id integer)" })
  const reader = p.as((await p.key("acme", everyScope, { read_only: true })).secret)
  const set = { name: "kv_set", arguments: { key: "a", value: 1 } }
  await assert.rejects(reader.mcp.call(set), { status: 403, code: "key_read_only" })
  await assert.rejects(reader.mcp.call({ name: "call_tool", arguments: set }), { code: "key_read_only" })
  const { tools } = await reader.mcp.list({ toolsets: "kv" })
  assert.ok(!tools.some(({ name }) => name === "kv_set"))
  const insert = { sql: "INSERT INTO notes VALUES (1)" }
  await assert.rejects(reader.mcp.call({ name: "execute_sql", arguments: insert }), { code: "key_read_only" })
  const count = { sql: "SELECT count(*)::integer AS n FROM notes" }
  const counted = await reader.mcp.call({ name: "execute_sql", arguments: count })
  assert.match(counted.content[0]?.text ?? "", /"rows":\[(\{"n":0\}|\[0\])/)
})

test("a publishable key opens no tool, and a key of the whole organization must name a project", async t => {
  const p = await platform(t)
  const { publishableKey, projectId } = await p.tenant("acme")
  const browser = p.as(publishableKey)
  await assert.rejects(browser.mcp.list({}), { code: "publishable_key_not_allowed" })
  await assert.rejects(browser.mcp.call({ name: "kv_get" }), { code: "publishable_key_not_allowed" })
  const { secret } = await p.key("acme", everyScope, { project_id: null })
  await assert.rejects(p.as(secret).mcp.list({}), { status: 400, code: "project_required" })
  const named = p.as(secret, { project: projectId })
  assert.ok((await named.mcp.list({})).tools.length > 0)
})

test("a tool reaches nothing of another tenant or project", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...everyScope)
  const other = await p.client("other", ...everyScope)
  const { organizationId, projectId } = await p.tenant("other")
  await other.kv.set({ key: "secret", value: "theirs" })
  await other.storage.createBucket({ name: "theirs" })
  const call = (name: string, given: Record<string, unknown>) => acme.mcp.call({ name, arguments: given })
  const read = await call("kv_get", { key: "secret" })
  assert.doesNotMatch(JSON.stringify(read), /theirs/)
  assert.equal((await call("get_bucket", { name: "theirs" })).isError, true)
  const mismatch = await call("list_query_logs", { tenant_id: organizationId })
  assert.match(mismatch.content[0]?.text ?? "", /^tenant_mismatch: /)
  for (const name of ["project_id", "x-svc-project", "tenant_id", "principal", "approvalId"])
    assert.equal((await call("kv_get", { key: "secret", [name]: projectId })).isError, true, name)
})

test("names of Object's own are refused as any unknown field, and pollute nothing", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const call = async (given: string) => {
    const response = await p.request("/api/v1/mcp/call", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: `{"name":"kv_set","arguments":${given}}`,
    })
    return { status: response.status, body: (await response.json()) as { isError: boolean } }
  }
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const { status, body } = await call(`{"key":"a","value":1,"${name}":{"polluted":true}}`)
    assert.deepEqual([status, body.isError], [200, true], name)
  }
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

test("a part of the path that is no text is refused, not a failure of the server", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  for (const name of [{ toString: 1 }, [], null, "\ud800", "../../kv", 7, ""]) {
    const result = await svc.mcp.call({ name: "get_bucket", arguments: { name } })
    assert.equal(result.isError, true)
    assert.doesNotMatch(result.content[0]?.text ?? "", /internal_error/, JSON.stringify(name))
  }
})

test("huge and deep arguments are refused as the operation refuses them", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  // Over HTTP this operation takes a mebibyte.
  const description = "x".repeat(2 * 1024 * 1024)
  const large = await svc.mcp.call({ name: "create_bucket", arguments: { name: "large", description } })
  assert.match(large.content[0]?.text ?? "", /^payload_too_large: /)
  const value = "x".repeat(9 * 1024 * 1024)
  await assert.rejects(svc.mcp.call({ name: "kv_set", arguments: { key: "a", value } }), { status: 413 })
  let deep: unknown = 1
  for (let level = 0; level < 100; level++) deep = [deep]
  await assert.rejects(svc.mcp.call({ name: "kv_set", arguments: { key: "a", value: deep } }), {
    code: "json_too_deep",
  })
})

test("an address outside the key's list opens no tool", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope, { ip_allowlist: ["203.0.113.0/24"] })
  await assert.rejects(p.as(secret).mcp.call({ name: "kv_get" }), { code: "ip_not_allowed" })
})

test("a high-risk tool waits for a person where the key requires it, and its caller can wait for the decision", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const database = await svc.databases.create({ name: "main" })
  const careful = p.as((await p.key("acme", everyScope, { require_approval: true })).secret)
  const remove = { name: "delete_database", arguments: { id: database.id } }
  const pending = await careful.mcp.call({ name: "call_tool", arguments: remove })
  assert.equal(pending.isError, false)
  const { status, approval } = pending.structuredContent as {
    status: string
    approval: { id: string; url: string; operation: string }
  }
  assert.deepEqual([status, approval.operation], ["pending_approval", "deleteDatabase"])
  assert.equal(approval.url, `${p.config.baseUrl}/console/approvals/${approval.id}`)
  assert.equal((await svc.databases.get({ id: database.id })).id, database.id)

  const wait = (timeout_seconds: number, as = careful) =>
    as.mcp.call({ name: "wait_for_approval", arguments: { id: approval.id, timeout_seconds } })
  const atOnce = await wait(0)
  assert.equal((atOnce.structuredContent as { status: string }).status, "pending")
  const stranger = await wait(0, await p.client("other", ...everyScope))
  assert.match(stranger.content[0]?.text ?? "", /^approval_not_found: /)

  const waiting = wait(300)
  const person = await p.person("acme")
  await person.approvals.reject({ id: approval.id })
  let isDecided = false
  waiting.finally(() => {
    isDecided = true
  })
  await eventually("the decision is heard of", async () => {
    await p.clock.advance(1_000)
    return isDecided
  })
  assert.equal(((await waiting).structuredContent as { status: string }).status, "rejected")
  assert.equal((await svc.databases.get({ id: database.id })).id, database.id)
})

test("an Idempotency-Key of a call is that of its operation", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const create = async () => {
    const response = await p.request("/api/v1/mcp/call", {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        "idempotency-key": "once",
      },
      body: JSON.stringify({ name: "create_database", arguments: { name: "main" } }),
    })
    const result = (await response.json()) as { isError: boolean; structuredContent: { id: string } }
    assert.equal(result.isError, false)
    return result.structuredContent.id
  }
  assert.equal(await create(), await create())
})

test("a foreign page cannot call tools with a person's cookie", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const { cookie } = await p.session("acme")
  const response = await p.request("/api/v1/mcp/call", {
    method: "POST",
    headers: {
      cookie: cookie ?? "",
      origin: "https://evil.example",
      "x-svc-project": projectId,
      "content-type": "application/json",
    },
    body: JSON.stringify({ name: "kv_keys" }),
  })
  assert.equal(((await response.json()) as { code: string }).code, "csrf_failed")
})
