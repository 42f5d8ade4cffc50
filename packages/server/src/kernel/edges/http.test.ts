/** Methods, paths and headers as bytes on a socket. Bodies: body.test.ts; connections: connection.test.ts. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { allOperations, type Operation } from "@svc/contract"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { exchange, openWire, requestBytes } from "../../testing/wire.ts"
import { METHODS } from "./routes.ts"

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

const withKey = async (t: TestContext) => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:read", "kv:write"])
  return { p, url: p.url, headers: { authorization: `Bearer ${secret}` } }
}

const codeOf = (body: string): string => (JSON.parse(body) as { code: string }).code

test("HEAD answers with the headers of GET and no body", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  const ask = (method: string) => {
    wire.send(
      requestBytes({ method, path: "/v1/scopes", headers: { ...headers, "x-request-id": "the-same-id" } }),
    )
    return wire.reply(method)
  }
  const get = await ask("GET")
  const head = await ask("HEAD")
  const { date: _, ...shown } = head.headers
  const { date: __, ...expected } = get.headers
  assert.equal(head.status, 200)
  assert.equal(head.body, "")
  assert.deepEqual(shown, expected)
  // Had a body followed, it would be read as the beginning of this reply.
  assert.equal((await ask("GET")).body, get.body)
})

test("HEAD of a path that only takes POST is refused, without a body", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  wire.send(requestBytes({ method: "HEAD", path: "/v1/kv/get", headers }))
  const head = await wire.reply("HEAD")
  assert.equal(head.status, 405)
  wire.send(requestBytes({ path: "/v1/me", headers }))
  assert.equal((await wire.reply()).status, 200)
})

test("OPTIONS tells every path's methods, and opens only what says so to other origins", async t => {
  const { p, url } = await withKey(t)
  const wire = await openWire(t, url)
  const options = async (path: string) => {
    wire.send(requestBytes({ method: "OPTIONS", path, headers: { origin: "https://elsewhere.example" } }))
    const { status, headers, body } = await wire.reply()
    assert.deepEqual([status, body], [204, ""])
    assert.match(headers["x-request-id"] ?? "", UUID)
    assert.equal(headers["content-length"], undefined)
    return headers
  }
  const byPath = Map.groupBy(allOperations, ({ path }: Operation) => path)
  for (const [path, operations] of byPath) {
    // S3's preflights are operations, which answer by the rules of a bucket.
    if (operations.some(({ method }) => method === "OPTIONS")) continue
    const headers = await options(path.replaceAll(/\{\w+\}/g, "x"))
    const methods = new Set([...operations.map(({ method }) => method as string), "OPTIONS"])
    if (methods.has("GET")) methods.add("HEAD")
    assert.deepEqual(new Set(headers.allow?.split(", ")), methods, path)
    const isOpen = operations.some(
      ({ crossOrigin, scope }) => crossOrigin || scope === "publishable" || scope === "end-user",
    )
    assert.equal(
      Object.keys(headers).some(name => name.startsWith("access-control-")),
      isOpen,
      path,
    )
  }

  const open = await options("/v1/probe/open")
  assert.equal(open["access-control-allow-origin"], "*")
  assert.equal(open["access-control-allow-methods"], "OPTIONS, POST")
  assert.match(open["access-control-allow-headers"] ?? "", /^\*, authorization$/)
  assert.equal(open["access-control-allow-credentials"], undefined)
  await checkOpenRoute(t, p)
})

const checkOpenRoute = async (t: TestContext, p: TestPlatform) => {
  const { publishableKey } = await p.tenant("acme")
  const call = (authorization: string) =>
    exchange(t, p.url, {
      method: "POST",
      path: "/v1/probe/open",
      headers: { authorization, origin: "https://elsewhere.example", "content-type": "application/json" },
      body: '{"text":"hello"}',
    })
  const answered = await call(`Bearer ${publishableKey}`)
  const refused = await call("Bearer svc_pk_wrong")
  assert.deepEqual([answered.status, refused.status], [200, 401])
  for (const { headers } of [answered, refused]) {
    assert.equal(headers["access-control-allow-origin"], "*")
    assert.match(headers["access-control-expose-headers"] ?? "", /^\*$/)
  }
}

test("a path that no operation has is 404 for every method", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  const paths = ["/v1/nothing", "/v1/me/", "//v1/me", "/V1/me", "/v1/kv", "/v1/keys/a/b/c", "/v1/me%2f", "*"]
  for (const path of paths) {
    for (const method of path === "*" ? ["OPTIONS"] : ["GET", "POST", "OPTIONS", "TRACE"]) {
      wire.send(requestBytes({ method, path, headers }))
      const reply = await wire.reply()
      assert.deepEqual([reply.status, codeOf(reply.body)], [404, "route_not_found"], `${method} ${path}`)
      assert.match(reply.headers["x-request-id"] ?? "", UUID)
    }
  }
})

test("a method that a path does not have is 405 and told which it has", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  for (const [method, path, allow] of [
    ["GET", "/v1/kv/set", "OPTIONS, POST"],
    ["POST", "/v1/me", "GET, HEAD, OPTIONS"],
    ["TRACE", "/v1/me", "GET, HEAD, OPTIONS"],
    ["PUT", "/v1/keys/x", "DELETE, GET, HEAD, OPTIONS, PATCH"],
  ] as const) {
    wire.send(requestBytes({ method, path, headers }))
    const reply = await wire.reply()
    assert.deepEqual(
      [reply.status, codeOf(reply.body), reply.headers.allow],
      [405, "method_not_allowed", allow],
    )
  }
})

test("a method that nothing has is 405 everywhere, without a credential, and its body is not read", async t => {
  const { url } = await withKey(t)
  for (const method of ["QUERY", "PROPFIND", "SEARCH", "LINK"]) {
    for (const [path, allow] of [
      ["/v1/kv/set", "OPTIONS, POST"],
      ["/nothing", METHODS.join(", ")],
      ["/health", METHODS.join(", ")],
    ] as const) {
      const wire = await openWire(t, url)
      // The body that is announced never comes.
      wire.send(requestBytes({ method, path, headers: { "content-length": "100" } }))
      const reply = await wire.reply()
      assert.deepEqual(
        [reply.status, codeOf(reply.body), reply.headers.allow, reply.headers.connection],
        [405, "method_not_allowed", allow, "close"],
        `${method} ${path}`,
      )
    }
  }
  const wire = await openWire(t, url)
  wire.send("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n")
  assert.equal((await wire.reply()).status, 405)
})

test("a request line of another version than HTTP/1 is refused", async t => {
  const { url, headers } = await withKey(t)
  for (const version of ["2.0", "0.9"]) {
    for (const path of ["/v1/me", "/health", "/nothing"]) {
      const wire = await openWire(t, url)
      const bytes = requestBytes({ path, headers }).toString().replace("HTTP/1.1", `HTTP/${version}`)
      wire.send(bytes)
      const reply = await wire.reply()
      assert.deepEqual([reply.status, codeOf(reply.body)], [400, "invalid_request"], `${version} ${path}`)
    }
  }
})

test("an operation without a body refuses one that has fields, and takes an empty one", async t => {
  const { p, headers } = await withKey(t)
  const post = async (body: string | undefined, type = "application/json") => {
    const response = await p.request("/v1/approvals/01890a5d-ac96-774b-bcce-b302099a8057/cancel", {
      method: "POST",
      headers: { ...headers, "content-type": type },
      ...(body !== undefined && { body }),
    })
    return [response.status, ((await response.json()) as { code: string }).code]
  }
  for (const body of [undefined, "", "{}"]) assert.equal((await post(body))[0], 404, body)
  assert.deepEqual(await post('{"comment":"x"}'), [400, "validation_failed"])
  assert.deepEqual(await post("x=1", "application/x-www-form-urlencoded"), [415, "unsupported_media_type"])
})

test("a usable x-request-id is kept, on success and on every refusal; any other is replaced", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  const idOf = async (method: string, path: string, given: string) => {
    wire.send(requestBytes({ method, path, headers: { ...headers, "x-request-id": given } }))
    const reply = await wire.reply()
    const inBody =
      reply.body === "" ? undefined : (JSON.parse(reply.body) as { request_id: string }).request_id
    assert.ok(inBody === undefined || inBody === reply.headers["x-request-id"])
    return reply.headers["x-request-id"] ?? ""
  }
  for (const [method, path] of [
    ["GET", "/v1/me"],
    ["GET", "/v1/keys"],
    ["POST", "/v1/me"],
    ["GET", "/nothing"],
    ["GET", "/v1/keys/%zz"],
    ["OPTIONS", "/v1/me"],
  ] as const) {
    assert.equal(await idOf(method, path, "trace_1.2-3"), "trace_1.2-3")
    assert.equal(await idOf(method, path, "a".repeat(128)), "a".repeat(128))
    for (const bad of ["short", "a".repeat(129), "has spaces", "semi;colon", 'quo"te"s', ""]) {
      assert.match(await idOf(method, path, bad), UUID, bad)
    }
  }
})

test("two x-request-id headers are none", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  const lines = "x-request-id: first-of-two\r\nx-request-id: second-of-two"
  wire.send(`GET /v1/me HTTP/1.1\r\nhost: svc\r\nauthorization: ${headers.authorization}\r\n${lines}\r\n\r\n`)
  assert.match((await wire.reply()).headers["x-request-id"] ?? "", UUID)
})

test("two Authorization headers are refused, whoever they name", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  for (const second of [headers.authorization, "Bearer svc_sk_other"]) {
    wire.send(
      `GET /v1/me HTTP/1.1\r\nhost: svc\r\nAuthorization: ${headers.authorization}\r\nAUTHORIZATION: ${second}\r\n\r\n`,
    )
    const { status, body } = await wire.reply()
    assert.deepEqual([status, codeOf(body)], [400, "header_duplicated"])
  }
})

test("a request without a Host, or with two, is refused", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  const rest = `authorization: ${headers.authorization}\r\n\r\n`
  wire.send(`GET /v1/me HTTP/1.1\r\n${rest}`)
  const none = await wire.reply()
  assert.deepEqual([none.status, codeOf(none.body)], [400, "invalid_request"])
  wire.send(`GET /v1/me HTTP/1.1\r\nhost: a\r\nhost: b\r\n${rest}`)
  const two = await wire.reply()
  assert.deepEqual([two.status, codeOf(two.body)], [400, "header_duplicated"])
  wire.send(`GET /v1/me HTTP/1.0\r\n${rest}`)
  assert.equal((await wire.reply()).status, 200)
})

test("two spellings of the project header must name the same project", async t => {
  const { p, url } = await withKey(t)
  const { projectId } = await p.tenant("acme")
  const { secret } = await p.key("acme", ["kv:read"], { project_id: null })
  const wire = await openWire(t, url)
  const ask = async (...lines: string[]) => {
    wire.send(
      `GET /v1/probe/project HTTP/1.1\r\nhost: svc\r\nauthorization: Bearer ${secret}\r\n${lines.join("\r\n")}\r\n\r\n`,
    )
    const { status, body } = await wire.reply()
    return status === 200 ? body.includes(projectId) : codeOf(body)
  }
  const other = "00000000-0000-7000-8000-000000000000"
  assert.equal(await ask(`X-Svc-Project: ${projectId}`), true)
  assert.equal(await ask(`X-Project-Id: ${projectId}`), true)
  assert.equal(await ask(`X-Svc-Project: ${projectId}`, `X-Project-Id: ${projectId}`), true)
  assert.equal(await ask(`X-Svc-Project: ${projectId}`, `X-Project-Id: ${other}`), "invalid_request")
  assert.equal(
    await ask(`X-Svc-Project: ${projectId}`, `X-Svc-Project: ${projectId}`),
    "project_not_in_organization",
  )
  assert.equal(await ask("X-Svc-Project: "), "project_not_in_organization")
})

test("broken percent-encoding and endless path parameters are refused as such", async t => {
  const { p, url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  const ask = async (path: string) => {
    wire.send(requestBytes({ path, headers }))
    const { status, body } = await wire.reply()
    return [status, codeOf(body)]
  }
  for (const broken of ["%", "%zz", "%c3%28", "%ed%a0%80", "%ff"]) {
    assert.deepEqual(await ask(`/v1/projects/${broken}`), [400, "uri_invalid"], broken)
  }
  assert.deepEqual(await ask(`/v1/projects/${"a".repeat(4096)}`), [404, "project_not_found"])
  assert.deepEqual(await ask(`/v1/projects/${"a".repeat(4097)}`), [400, "uri_invalid"])
  assert.deepEqual(await ask("/v1/projects/%00"), [404, "project_not_found"])
  const { organizationId } = await p.tenant("acme")
  assert.deepEqual(await ask(`/v1/probe/${organizationId}%00/thing`), [403, "tenant_mismatch"])
})

test("query fields are declared ones, given once", async t => {
  const { url, headers } = await withKey(t)
  const wire = await openWire(t, url)
  const ask = async (query: string) => {
    wire.send(requestBytes({ path: `/v1/projects?${query}`, headers }))
    const { status, body } = await wire.reply()
    const { errors = [] } = JSON.parse(body) as { errors?: { location: string }[] }
    return [status, ...errors.map(({ location }) => location)]
  }
  assert.deepEqual(await ask("limit=1&offset=0"), [200])
  assert.deepEqual(await ask("limit=1&limit=1"), [400, "query.limit"])
  for (const bad of ["limit=", "limit=0", "limit=201", "limit=1.5", "limit=ten", "limit=1e999", "limit=-1"]) {
    assert.deepEqual(await ask(bad), [400, "query.limit"], bad)
  }
  assert.deepEqual(await ask("limit=1&color=red"), [400, "query.color"])
  assert.deepEqual(await ask("__proto__=1"), [400, "query.__proto__"])
  assert.deepEqual(await ask("constructor=1"), [400, "query.constructor"])
  assert.deepEqual(await ask("limit[]=1"), [400, "query.limit[]"])
  assert.deepEqual(await ask("%00=1"), [400, "query.\0"])
})

test("a field's name in a refusal is cut, however long the caller made it", async t => {
  const { url, headers } = await withKey(t)
  const reply = await exchange(t, url, { path: `/v1/projects?${"n".repeat(8000)}=1`, headers })
  assert.equal(reply.status, 400)
  assert.ok(reply.body.length < 1000)
})

test("an error inside a handler is a 500 that tells nothing of it", async t => {
  const { url, headers } = await withKey(t)
  const reply = await exchange(t, url, {
    method: "POST",
    path: "/v1/probe/broken",
    headers: { ...headers, "content-type": "application/json" },
    body: "{}",
  })
  assert.deepEqual([reply.status, codeOf(reply.body)], [500, "internal_error"])
  assert.doesNotMatch(reply.body, /internal text/)
})
