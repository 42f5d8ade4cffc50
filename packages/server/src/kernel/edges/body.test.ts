/** Request bodies as bytes on a socket: type, size, encoding, shape. Slow ones: connection.test.ts. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { MIB } from "@svc/contract"
import { platform } from "../../testing/platform.ts"
import { exchange, openWire, requestBytes } from "../../testing/wire.ts"

type Body = string | Buffer

interface Refusal {
  readonly code: string
  readonly errors?: readonly { readonly location: string; readonly message: string }[]
  /** Of KV, when it was no refusal. */
  readonly value?: unknown
}

/** A way to post to one connection that stays open, which it only does when nothing goes out of step. */
const postOver = async (t: TestContext) => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:read", "kv:write"])
  const authorization = `Bearer ${secret}`
  const wire = await openWire(t, p.url)
  const post = async (
    path: string,
    body: Body,
    headers: Record<string, string> = { "content-type": "application/json" },
  ) => {
    wire.send(requestBytes({ method: "POST", path, headers: { authorization, ...headers }, body }))
    const reply = await wire.reply()
    return { status: reply.status, ...(JSON.parse(reply.body) as Refusal) }
  }
  return { p, authorization, post }
}

const refused = ({ status, code, errors }: { status: number } & Refusal) =>
  errors ? [status, code, ...errors.map(({ location }) => location)] : [status, code]

test("a body larger than the operation takes is refused before a byte of it is read", async t => {
  const { p, authorization } = await postOver(t)
  const wire = await openWire(t, p.url)
  const headers = { authorization, "content-type": "application/json", "content-length": String(MIB + 1) }
  wire.send(requestBytes({ method: "POST", path: "/v1/kv/get", headers }))
  const reply = await wire.reply()
  assert.equal(reply.status, 413)
  assert.deepEqual(
    JSON.parse(reply.body).error,
    "the request body is too large: at most 1048576 bytes are allowed",
  )
  assert.equal(reply.headers.connection, "close")
  wire.socket.destroy()
})

test("a client that sends a body which is too large still gets to read why", async t => {
  const { p, authorization } = await postOver(t)
  const headers = { authorization, "content-type": "application/json" }
  for (const body of [Buffer.alloc(8 * MIB, " "), new Blob([Buffer.alloc(8 * MIB, " ")]).stream()]) {
    const response = await p.request("/v1/kv/get", {
      method: "POST",
      headers,
      body,
      duplex: "half",
    } as RequestInit)
    assert.equal(response.status, 413)
    assert.equal(((await response.json()) as Refusal).code, "payload_too_large")
  }
})

test("a chunked body is refused once it has grown too large", async t => {
  const { p, authorization } = await postOver(t)
  const wire = await openWire(t, p.url)
  const headers = { authorization, "content-type": "application/json", "transfer-encoding": "chunked" }
  wire.send(requestBytes({ method: "POST", path: "/v1/kv/get", headers }))
  const chunk = Buffer.concat([Buffer.from("40000\r\n"), Buffer.alloc(0x40000, " "), Buffer.from("\r\n")])
  for (let sent = 0; sent < MIB; sent += 0x40000) wire.send(chunk)
  wire.send("1\r\n \r\n")
  const reply = await wire.reply()
  assert.deepEqual([reply.status, reply.headers.connection], [413, "close"])
  wire.socket.destroy()
})

test("a body of exactly the largest size is read, in one piece and in chunks", async t => {
  const { p, authorization } = await postOver(t)
  const body = '{"key":"k"}'.padEnd(MIB, " ")
  const headers = { authorization, "content-type": "application/json" }
  assert.equal((await exchange(t, p.url, { method: "POST", path: "/v1/kv/get", headers, body })).status, 200)
  const wire = await openWire(t, p.url)
  wire.send(
    requestBytes({
      method: "POST",
      path: "/v1/kv/get",
      headers: { ...headers, "transfer-encoding": "chunked" },
    }),
  )
  for (const piece of [body.slice(0, 5), body.slice(5)])
    wire.send(`${piece.length.toString(16)}\r\n${piece}\r\n`)
  wire.send("0\r\n\r\n")
  assert.equal((await wire.reply()).status, 200)
})

test("only JSON in UTF-8 is taken for JSON", async t => {
  const { post } = await postOver(t)
  const body = '{"key":"k"}'
  for (const type of [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
    "application/merge-patch+json",
  ]) {
    assert.equal((await post("/v1/kv/get", body, { "content-type": type })).status, 200, type)
  }
  assert.equal((await post("/v1/kv/get", body, {})).status, 200)
  assert.equal((await post("/v1/kv/get", body, { "content-encoding": "identity" })).status, 200)
  for (const type of [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "text/json",
    "application/json; charset=iso-8859-1",
    "application/json; charset=utf-16",
    "application/jsonp",
    "application/json, text/plain",
    "nonsense",
    "",
  ]) {
    const reply = await post("/v1/kv/get", body, { "content-type": type })
    assert.deepEqual(refused(reply), [415, "unsupported_media_type"], type)
  }
  for (const encoding of ["gzip", "br", "deflate", "gzip, identity"]) {
    const headers = { "content-type": "application/json", "content-encoding": encoding }
    assert.deepEqual(
      refused(await post("/v1/kv/get", body, headers)),
      [415, "unsupported_media_type"],
      encoding,
    )
  }
})

test("who calls is asked before what the body is", async t => {
  const { post } = await postOver(t)
  const nobody = { authorization: "Bearer svc_sk_wrong", "content-type": "text/plain" }
  assert.deepEqual(refused(await post("/v1/kv/get", "{{{", nobody)), [401, "invalid_api_key"])
})

test("what is not JSON is refused as such", async t => {
  const { post } = await postOver(t)
  const broken: Body[] = [
    "{",
    '{"key":"k"',
    "{'key':'k'}",
    '{"key":"k",}',
    "{} {}",
    "nothing",
    "NaN",
    " ",
    '{"key":"\u0001"}',
  ]
  for (const body of broken)
    assert.deepEqual(refused(await post("/v1/kv/get", body)), [400, "invalid_json"], String(body))
})

test("bytes that are not UTF-8 are refused, never replaced", async t => {
  const { post } = await postOver(t)
  for (const bytes of [
    [0xff],
    [0xc3, 0x28],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xc0, 0x80],
    [0xe2, 0x82],
  ]) {
    const body = Buffer.concat([Buffer.from('{"key":"'), Buffer.from(bytes), Buffer.from('"}')])
    assert.deepEqual(refused(await post("/v1/kv/get", body)), [400, "invalid_json"], body.toString("hex"))
  }
  assert.equal(
    (await post("/v1/kv/get", '\ufeff{"key":"k"}')).status,
    200,
    "a byte order mark is no part of the text",
  )
})

test("a body that is missing, empty or no object is refused with the field at fault", async t => {
  const { post } = await postOver(t)
  assert.deepEqual(refused(await post("/v1/kv/get", "")), [400, "validation_failed", "body.key"])
  assert.deepEqual(refused(await post("/v1/kv/get", "{}")), [400, "validation_failed", "body.key"])
  for (const body of ["[]", "null", '"text"', "1", "true", '[{"key":"k"}]']) {
    assert.deepEqual(refused(await post("/v1/kv/get", body)), [400, "validation_failed", "body"], body)
  }
  assert.deepEqual(refused(await post("/v1/kv/get", '{"key":"k","colour":1}')), [
    400,
    "validation_failed",
    "body.colour",
  ])
})

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`

test("a number that no double can hold is refused, and not stored as something else", async t => {
  const { post } = await postOver(t)
  for (const value of ["1e400", "[-1e400]", '{"deep":{"in":1e999}}']) {
    const reply = await post("/v1/kv/set", `{"key":"big","value":${value}}`)
    assert.deepEqual(refused(reply), [400, "validation_failed", "body"], value)
  }
  assert.equal((await post("/v1/kv/set", '{"key":"big","value":1e308}')).status, 200)
})

test("nesting has a limit, and past it nothing breaks", async t => {
  const { post } = await postOver(t)
  // The body itself is the first level.
  const store = (levels: number) => post("/v1/kv/set", `{"key":"deep","value":${nested(levels - 1)}}`)
  assert.equal((await store(64)).status, 200)
  assert.deepEqual((await post("/v1/kv/get", '{"key":"deep"}')).value, JSON.parse(nested(63)))
  for (const levels of [65, 100_000, 500_000]) {
    assert.deepEqual(refused(await store(levels)), [400, "json_too_deep"], String(levels))
  }
  const objects = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`
  assert.deepEqual(refused(await post("/v1/kv/set", `{"key":"deep","value":${objects}}`)), [
    400,
    "json_too_deep",
  ])
  assert.deepEqual(refused(await post("/v1/kv/get", nested(100_000))), [400, "validation_failed", "body"])
  assert.deepEqual(refused(await post("/v1/kv/get", `{"extra":${nested(1000)}}`)), [400, "json_too_deep"])
})

test("a null character or half of a surrogate pair is data to KV and refused where PostgreSQL would", async t => {
  const { post } = await postOver(t)
  for (const text of ["\\u0000", "a\\u0000b", "\\ud800", "\\udc00\\ud800"]) {
    const value = `{"${text}":["${text}"]}`
    assert.equal((await post("/v1/kv/set", `{"key":"k","value":${value}}`)).status, 200)
    assert.deepEqual((await post("/v1/kv/get", '{"key":"k"}')).value, JSON.parse(value))
    const refusal = await post("/v1/probe/outside", `{"text":"${text}"}`)
    assert.deepEqual(refused(refusal), [400, "validation_failed", "body"])
  }
  assert.equal((await post("/v1/probe/outside", '{"text":"\\ud83d\\ude00"}')).status, 200)
})

test("__proto__ and constructor are names like any other and change no object", async t => {
  const { post } = await postOver(t)
  const value = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
  assert.equal((await post("/v1/kv/set", `{"key":"k","value":${value}}`)).status, 200)
  const found = await post("/v1/kv/get", '{"key":"k"}')
  assert.equal(JSON.stringify(found.value), value)
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
  for (const field of ["__proto__", "constructor", "hasOwnProperty", "toString"]) {
    const refusal = await post("/v1/kv/get", `{"key":"k","${field}":{"polluted":true}}`)
    assert.deepEqual(refused(refusal), [400, "validation_failed", `body.${field}`])
  }
  assert.deepEqual(refused(await post("/v1/kv/get", '{"__proto__":{"key":"k"}}')).slice(0, 2), [
    400,
    "validation_failed",
  ])
})

test("of two fields with one name the last counts, as everywhere in JavaScript", async t => {
  const { post } = await postOver(t)
  await post("/v1/kv/set", '{"key":"first","value":1,"key":"second"}')
  assert.equal((await post("/v1/kv/get", '{"key":"first"}')).value, null)
  assert.equal((await post("/v1/kv/get", '{"key":"second"}')).value, 1)
})
