import assert from "node:assert/strict"
import { test } from "node:test"
import { inspect } from "node:util"
import { createSvc, SvcError } from "./index.ts"
import { openEndpoint } from "./testing/endpoint.ts"

const ID = "01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10"
const found = { value: { a: 1 }, version: 1, ttl_seconds: null }

test("each field of the flat input travels where the contract puts it", async t => {
  const { url, received } = await openEndpoint(t, () => ({ body: { data: {}, request_id: "r" } }))
  const svc = createSvc({ apiKey: "svc_sk_x", baseUrl: url })

  await svc.keys.rotate({ id: ID, grace_period_seconds: 60 })
  await svc.keys.list({ limit: 10, status: "active" })
  await svc.identity.me()

  assert.deepEqual(
    received.map(({ method, path, body }) => ({ method, path, body })),
    [
      { method: "POST", path: `/v1/keys/${ID}/rotate`, body: '{"grace_period_seconds":60}' },
      { method: "GET", path: "/v1/keys?limit=10&status=active", body: "" },
      { method: "GET", path: "/v1/me", body: "" },
    ],
  )
  assert.equal(received[0]?.headers.authorization, "Bearer svc_sk_x")
  assert.equal(received[0]?.headers["content-type"], "application/json")
})

test("a field that the contract does not know still reaches the platform, which names it", async t => {
  const { url, received } = await openEndpoint(t, () => ({ body: found }))
  const svc = createSvc({ baseUrl: url })

  // @ts-expect-error the contract has no such field
  await svc.kv.get({ key: "a", colour: "red" })
  await svc.request("keys.list" as string, { colour: "red" })

  assert.equal(received[0]?.body, '{"key":"a","colour":"red"}')
  assert.equal(received[1]?.path, "/v1/keys?colour=red")
})

test("a path parameter stays one segment whatever it holds", async t => {
  const { url, received } = await openEndpoint(t, () => ({ body: { data: {} } }))
  const svc = createSvc({ baseUrl: url })

  await svc.keys.get({ id: "a/b c?d#é" })

  assert.equal(received[0]?.path, "/v1/keys/a%2Fb%20c%3Fd%23%C3%A9")
})

test("a path parameter that would turn into another route is refused and nothing is sent", async t => {
  const { url, received } = await openEndpoint(t, () => ({ body: {} }))
  const svc = createSvc({ baseUrl: url })

  for (const id of ["", ".", ".."]) await assert.rejects(svc.keys.delete({ id }), TypeError)

  assert.equal(received.length, 0)
})

test("envelopes are taken off and bare replies left as they are", async t => {
  const key = { id: ID }
  const bodies: Record<string, unknown> = {
    [`/v1/keys/${ID}`]: { data: key, request_id: "r" },
    "/v1/keys": { data: [key], total: 1, limit: 50, offset: 0, request_id: "r" },
    "/v1/kv/get": found,
  }
  const { url } = await openEndpoint(t, ({ path }) =>
    path in bodies ? { body: bodies[path] } : { status: 204 },
  )
  const svc = createSvc({ baseUrl: url })

  assert.deepEqual(await svc.keys.get({ id: ID }), key)
  assert.deepEqual(await svc.keys.list(), { data: [key], total: 1, limit: 50, offset: 0 })
  assert.deepEqual(await svc.kv.get({ key: "a" }), found)
  assert.equal(await svc.projects.delete({ id: ID }), undefined)
})

test("the project is named where an operation can act inside one, and a call can name another", async t => {
  const { url, received } = await openEndpoint(t, () => ({ body: found }))
  const svc = createSvc({ baseUrl: url, project: "one" })

  await svc.kv.get({ key: "a" })
  await svc.kv.get({ key: "a" }, { project: "two" })
  await svc.keys.list()

  assert.deepEqual(
    received.map(({ headers }) => headers["x-svc-project"]),
    ["one", "two", undefined],
  )
})

test("a refusal carries everything the platform said", async t => {
  const body = {
    code: "validation_failed",
    error: "the request is not valid",
    docs_url: "http://localhost/docs/errors/validation_failed",
    request_id: "req-1",
    errors: [{ location: "body.key", message: "must be a string" }],
  }
  const { url } = await openEndpoint(t, () => ({ status: 400, body }))

  await assert.rejects(createSvc({ baseUrl: url }).kv.get({ key: "a" }), (error: unknown) => {
    assert.ok(error instanceof SvcError)
    const { status, code, message, requestId, docsUrl, errors } = error
    assert.deepEqual(
      { status, code, message, requestId, docsUrl, errors },
      {
        status: 400,
        code: body.code,
        message: body.error,
        requestId: "req-1",
        docsUrl: body.docs_url,
        errors: body.errors,
      },
    )
    return true
  })
})

test("a refused statement tells its SQLSTATE and place, also where the error is only printed", async t => {
  const details = { sqlstate: "23505", severity: "ERROR", position: null, constraint: "orders_pkey" }
  const body = { code: "invalid_sql", error: "the database rejected the statement", details }
  const { url } = await openEndpoint(t, () => ({ status: 400, body }))

  await assert.rejects(createSvc({ baseUrl: url }).sql.execute({ sql: "SELECT 1" }), (error: unknown) => {
    assert.ok(error instanceof SvcError)
    const sqlstate: string | undefined = error.details?.sqlstate
    assert.equal(sqlstate, "23505")
    assert.deepEqual(error.details, details)
    assert.match(inspect(error), /sqlstate: '23505'[\s\S]*constraint: 'orders_pkey'/)
    return true
  })
})

test("a reply that is no JSON of ours becomes an error with its status and request id", async t => {
  const { url } = await openEndpoint(t, () => ({
    status: 413,
    headers: { "content-type": "text/html", "x-request-id": "req-2" },
    body: "<html>too large</html>",
  }))

  await assert.rejects(createSvc({ baseUrl: url }).kv.get({ key: "a" }), {
    status: 413,
    code: "http_413",
    requestId: "req-2",
  })
})

test("request gives status, headers and request id beside the payload", async t => {
  const { url } = await openEndpoint(t, () => ({
    headers: { "x-request-id": "req-3", "x-extra": "1" },
    body: { data: { id: ID }, request_id: "req-3" },
  }))

  const reply = await createSvc({ baseUrl: url }).request("keys.get", { id: ID })

  assert.equal(reply.status, 200)
  assert.equal(reply.data.id, ID)
  assert.equal(reply.requestId, "req-3")
  assert.equal(reply.headers.get("x-extra"), "1")
})

test("an operation that does not exist is refused by name", async () => {
  const svc = createSvc()
  for (const name of ["kv.nope", "nope.get", "kv", "toString.call", "kv.constructor"])
    await assert.rejects(async () => svc.request(name as string), { message: `unknown operation: ${name}` })
})

test("the limits of the last reply can be read", async t => {
  const { url } = await openEndpoint(t, () => ({
    headers: { "x-ratelimit-limit": "20", "x-ratelimit-remaining": "19", "x-ratelimit-reset": "1800000000" },
    body: found,
  }))
  const svc = createSvc({ baseUrl: url })
  assert.equal(svc.rateLimit, undefined)

  await svc.kv.get({ key: "a" })

  assert.deepEqual(svc.rateLimit, { limit: 20, remaining: 19, reset: 1_800_000_000 })
})

test("raw sends one request with the credential and returns whatever status comes", async t => {
  const { url, received } = await openEndpoint(t, () => ({ status: 503, body: "busy" }))
  const svc = createSvc({ apiKey: "svc_sk_x", baseUrl: `${url}/base/` })

  const response = await svc.raw({ method: "PUT", path: "/health?a=1", headers: { "x-a": "b" }, body: "hi" })

  assert.equal(response.status, 503)
  assert.equal(await response.text(), "busy")
  assert.equal(received.length, 1)
  assert.equal(received[0]?.path, "/base/health?a=1")
  assert.equal(received[0]?.headers.authorization, "Bearer svc_sk_x")
  assert.equal(received[0]?.headers["x-a"], "b")
  assert.equal(received[0]?.body, "hi")
  await assert.rejects(svc.raw({ method: "GET", path: "@elsewhere.example" }), TypeError)
})

test("the key cannot be read off the client", () => {
  const svc = createSvc({ apiKey: "svc_sk_hidden" })
  assert.ok(!JSON.stringify(svc).includes("hidden"))
})

test("types: required fields, enums and results come from the contract", () => {
  const svc = createSvc()
  const neverRun = async () => {
    // @ts-expect-error key is required
    await svc.kv.get()
    // @ts-expect-error not a status of the contract
    await svc.keys.list({ status: "asleep" })
    // @ts-expect-error the request of a known operation is typed too
    await svc.request("kv.get", {})
    const version: number | null = (await svc.kv.get({ key: "a" })).version
    const total: number = (await svc.projects.list()).total
    const nothing: undefined = await svc.projects.delete({ id: ID })
    return [version, total, nothing]
  }
  assert.equal(typeof neverRun, "function")
})
