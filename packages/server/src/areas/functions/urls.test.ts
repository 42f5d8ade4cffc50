import assert from "node:assert/strict"
import { test } from "node:test"
import { everyScope } from "../../testing/platform.ts"
import { advanceUntil, deploy, functionWorld } from "./testing/world.ts"

const ECHO = `export default {
  async fetch(request, env, context) {
    const { pathname, search } = new URL(request.url)
    if (pathname === "/teapot") return new Response("short and stout", { status: 418, headers: { "x-tea": "green" } })
    if (pathname === "/bytes") return new Response(new Uint8Array([0, 255, 10, 13]), { headers: { "content-type": "image/x" } })
    if (pathname === "/empty") return new Response(null, { status: 204 })
    if (pathname === "/throw") throw new RangeError("no")
    if (pathname === "/nothing") return "text"
    if (pathname === "/evil") return new Response("<script>", { headers: { "content-type": "text/html", "set-cookie": "svc_session=x", "x-request-id": "mine", "access-control-allow-origin": "https://evil.example" } })
    const headers = Object.fromEntries(request.headers)
    return Response.json({ method: request.method, pathname, search, headers, body: await request.text(), id: context.invocation_id })
  }
}`

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

test("a function's URL takes every method, path, query and body as they were sent", async t => {
  const world = await functionWorld(t)
  const { id, name, url } = await deploy(world, ECHO)
  assert.equal(url, `${world.platform.config.baseUrl}/v1/functions/${id}/http/`)
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    const reply = await world.platform.request(`/v1/functions/${name}/http/a%2Fb/c?x=1&x=2&id=3`, {
      method,
      headers: {
        ...bearer(world.secret),
        "x-mine": "yes",
        "x-forwarded-for": "1.2.3.4",
        cookie: "svc_session=secret",
        "content-type": "text/x",
      },
      body: "hello",
    })
    const seen = (await reply.json()) as Record<string, unknown>
    assert.deepEqual(
      [reply.status, seen.method, seen.pathname, seen.search, seen.body],
      [200, method, "/a%2Fb/c", "?x=1&x=2&id=3", "hello"],
    )
    const headers = seen.headers as Record<string, string>
    assert.deepEqual([headers["x-mine"], headers["content-type"]], ["yes", "text/x"])
    assert.deepEqual([headers.authorization, headers.cookie], [undefined, undefined])
    assert.equal(headers["x-forwarded-for"], "127.0.0.1")
    assert.equal(reply.headers.get("x-svc-invocation-id"), seen.id)
  }
  const [first] = (await world.svc.functions.invocations({ id })).data
  assert.deepEqual([first?.trigger, first?.status_code, first?.payload_bytes], ["http", 200, 5])
})

test("a function chooses status, headers and bytes of its reply, but does not speak for the platform", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, ECHO)
  const get = (path: string, method = "GET") =>
    world.platform.request(`/v1/functions/${id}/http${path}`, { method, headers: bearer(world.secret) })

  const teapot = await get("/teapot")
  assert.deepEqual(
    [teapot.status, teapot.headers.get("x-tea"), await teapot.text()],
    [418, "green", "short and stout"],
  )
  const bytes = await get("/bytes")
  assert.deepEqual([...new Uint8Array(await bytes.arrayBuffer())], [0, 255, 10, 13])
  assert.equal(bytes.headers.get("content-type"), "image/x")
  assert.equal((await get("/empty")).status, 204)
  const head = await get("/teapot", "HEAD")
  assert.deepEqual([head.status, await head.text()], [418, ""])

  const evil = await get("/evil")
  assert.deepEqual(evil.headers.getSetCookie(), [])
  assert.notEqual(evil.headers.get("x-request-id"), "mine")
  assert.match(evil.headers.get("content-security-policy") ?? "", /^sandbox/)
  assert.equal(evil.headers.get("access-control-allow-origin"), null)
})

test("a function that fails behind its URL is 502, one that is late 504, and the invocation is named", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, ECHO)
  const get = (of: string, path: string) =>
    world.platform.request(`/v1/functions/${of}/http${path}`, { headers: bearer(world.secret) })
  for (const [path, type] of [
    ["/throw", /RangeError/],
    ["/nothing", /InvalidResponse/],
  ] as const) {
    const failed = await get(id, path)
    const { code, error } = (await failed.json()) as { code: string; error: string }
    assert.deepEqual([failed.status, code], [502, "function_failed"])
    assert.match(error, type)
    const invocation_id = failed.headers.get("x-svc-invocation-id") ?? ""
    assert.equal((await world.svc.functions.getInvocation({ id, invocation_id })).status, "error")
  }
  const late = await deploy(world, "export default { fetch: () => new Promise(() => {}) }", {
    timeout_seconds: 1,
  })
  const reply = await get(late.id, "/")
  assert.deepEqual(
    [reply.status, ((await reply.json()) as { code: string }).code],
    [504, "function_timed_out"],
  )
})

test("without a key only a public function answers, and only at its public URL", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, ECHO)
  const ask = (path: string, init: RequestInit = {}) => world.platform.request(path, init)
  assert.equal((await ask(`/v1/functions/${id}/http/`)).status, 401)
  assert.equal((await ask(`/v1/functions/public/${id}/`)).status, 404)
  const { url } = await world.svc.functions.update({ id, public: true })
  assert.equal(url, `${world.platform.config.baseUrl}/v1/functions/public/${id}/`)
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    const reply = await ask(`/v1/functions/public/${id}/a?b=c`, {
      method,
      // To a public function the header is its own: its users' tokens come so.
      headers: { authorization: "Bearer of-its-own", cookie: "svc_session=secret" },
    })
    const seen = (await reply.json()) as { headers: Record<string, string>; pathname: string; search: string }
    assert.deepEqual([reply.status, seen.pathname, seen.search], [200, "/a", "?b=c"])
    assert.deepEqual([seen.headers.authorization, seen.headers.cookie], ["Bearer of-its-own", undefined])
    assert.equal(reply.headers.get("access-control-allow-origin"), "*")
  }
  await world.svc.functions.update({ id, public: false })
  assert.equal((await ask(`/v1/functions/public/${id}/`)).status, 404)
  // What strangers changed through it is in its owner's audit trail.
  const { organizationId } = await world.platform.tenant("acme")
  await advanceUntil(world, async () => {
    const { rows } = await world.platform.database.pool.query(
      "SELECT FROM core.audit_events WHERE tenant_id = $1 AND targets::text LIKE $2 AND actor::text LIKE '%anonymous%'",
      [organizationId, `%${id}%`],
    )
    return rows.length === 4
  })
})

test("a public function of a deleted project answers no more", async t => {
  const world = await functionWorld(t)
  const person = await world.platform.person("acme")
  const { id: project } = await person.projects.create({ name: "gone" })
  const { secret } = await world.platform.key("acme", everyScope, { project_id: project })
  const { id } = await deploy({ svc: world.platform.as(secret) }, ECHO, { public: true })
  const status = async () => (await world.platform.request(`/v1/functions/public/${id}/`)).status
  assert.equal(await status(), 200)
  await person.projects.delete({ id: project })
  assert.equal(await status(), 404)
})

test("handlers of the classic kind get the event of an HTTP request, and answer in either form", async t => {
  const world = await functionWorld(t)
  const node = await deploy(
    world,
    `exports.handler = async e => e.rawPath === "/plain" ? { sum: 1 + 1 } : {
      statusCode: 201, headers: { "x-path": e.rawPath },
      body: JSON.stringify([e.requestContext.http.method, e.queryStringParameters, e.body, e.isBase64Encoded]),
    }`,
  )
  const python = await deploy(
    world,
    `import json
def handler(e, context):
    if e["rawPath"] == "/plain":
        return {"sum": 1 + 1}
    seen = [e["requestContext"]["http"]["method"], e["queryStringParameters"], e["body"], e["isBase64Encoded"]]
    return {"statusCode": 201, "headers": {"x-path": e["rawPath"]}, "body": json.dumps(seen, separators=(",", ":"))}
`,
    { runtime: "python3" },
  )
  for (const { id } of [node, python]) {
    const send = (path: string, body: string | Uint8Array<ArrayBuffer>) =>
      world.platform.request(`/v1/functions/${id}/http${path}`, {
        ...{ method: "POST", headers: bearer(world.secret), body },
      })
    const text = await send("/a?x=1", "hi")
    assert.deepEqual([text.status, text.headers.get("x-path")], [201, "/a"])
    assert.equal(await text.text(), '["POST",{"x":"1"},"hi",false]')
    assert.equal(await (await send("/", new Uint8Array([255, 0]))).text(), '["POST",{},"/wA=",true]')
    assert.deepEqual(await (await send("/plain", "")).json(), { sum: 2 })
  }
})

test("a body of more than 10 MiB is refused before the function sees any of it", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, ECHO)
  const reply = await world.platform.request(`/v1/functions/${id}/http/`, {
    ...{ method: "POST", headers: bearer(world.secret), body: new Uint8Array(10 * 2 ** 20 + 1) },
  })
  assert.deepEqual(
    [reply.status, ((await reply.json()) as { code: string }).code],
    [400, "function_payload_too_large"],
  )
  assert.equal((await world.svc.functions.invocations({ id })).total, 0)
})

test("invoking a function of the fetch kind sends the payload as JSON", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    "export default { fetch: async r => Response.json({ got: await r.json() }) }",
  )
  const answer = await world.svc.functions.invoke({ id, payload: { a: 1 } })
  assert.deepEqual("result" in answer && answer.result, { got: { a: 1 } })
})

test("another tenant's function, and another project's, answer like none", async t => {
  const world = await functionWorld(t)
  const { id, name } = await deploy(world, ECHO)
  const { secret } = await world.platform.key("other", everyScope)
  const other = world.platform.as(secret)
  const missing = { code: "function_not_found", status: 404 }
  for (const ref of [id, name]) {
    await assert.rejects(other.functions.get({ id: ref }), missing)
    await assert.rejects(other.functions.invoke({ id: ref, payload: {} }), missing)
    await assert.rejects(other.functions.logs({ id: ref }), missing)
    await assert.rejects(other.functions.delete({ id: ref }), missing)
    await assert.rejects(other.functions.update({ id: ref, memory_mb: 256 }), missing)
    const reply = await world.platform.request(`/v1/functions/${ref}/http/`, { headers: bearer(secret) })
    assert.equal(reply.status, 404)
  }
})
