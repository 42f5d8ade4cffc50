/** Bodies that are bytes, under paths that hold slashes. */
import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { platform } from "../../testing/platform.ts"
import { openWire, requestBytes } from "../../testing/wire.ts"

const FOLDER = "/v1/probe/folders/a/files"

const authorized = async (p: Awaited<ReturnType<typeof platform>>) => ({
  authorization: `Bearer ${(await p.key("acme", ["kv:read", "kv:write"])).secret}`,
})

test("the rest of a path arrives as it was meant, whatever it holds and however it was escaped", async t => {
  const p = await platform(t)
  const headers = await authorized(p)
  const wire = await openWire(t, p.url)
  const nameOf = async (path: string) => {
    wire.send(requestBytes({ method: "PUT", path: `${FOLDER}/${path}`, headers, body: "12345" }))
    const { status, body } = await wire.reply()
    assert.equal(status, 200, path)
    return JSON.parse(body).data.name
  }

  assert.equal(await nameOf("a/b/c"), "a/b/c")
  assert.equal(await nameOf("a%2Fb/c"), "a/b/c")
  assert.equal(await nameOf("/a//b/"), "/a//b/")
  assert.equal(await nameOf("../%2e%2e/./x"), "../.././x")
  assert.equal(await nameOf("a+b%20c;d=1%25"), "a+b c;d=1%")
  const text = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 50 })
    .filter(name => !name.includes("\0"))
  await fc.assert(
    fc.asyncProperty(text, async name => {
      if (name.isWellFormed()) assert.equal(await nameOf(encodeURIComponent(name)), name)
    }),
    { numRuns: 50 },
  )
})

test("a body of bytes is the handler's as it comes, whatever type it says", async t => {
  const p = await platform(t)
  const headers = await authorized(p)
  for (const type of ["application/octet-stream", "application/json", "x", undefined]) {
    const response = await p.request(`${FOLDER}/x`, {
      method: "PUT",
      headers: { ...headers, ...(type !== undefined && { "content-type": type }) },
      body: new Uint8Array(300_000),
    })
    const { data } = (await response.json()) as { data: unknown }
    assert.deepEqual(data, { folder: "a", name: "x", bytes: 300_000 })
  }
})

test("a sender that stops is cut off after a while, however little is missing; one that goes on is not", async t => {
  const p = await platform(t)
  const headers = { ...(await authorized(p)), "content-length": "100" }
  const steady = await openWire(t, p.url)
  const stopped = await openWire(t, p.url)
  const arrived = async (count: number) => {
    while (p.effects.length < count) await new Promise(setImmediate)
  }
  for (const wire of [steady, stopped])
    wire.send(requestBytes({ method: "PUT", path: `${FOLDER}/x`, headers }))
  stopped.send("9".repeat(99))
  await arrived(1)

  for (let sent = 1; sent < 100; sent++) {
    steady.send("1")
    await arrived(1 + sent)
    await p.clock.advance(10_000)
  }
  assert.equal(await stopped.closed(), "")
  steady.send("1")
  assert.equal((await steady.reply()).status, 200)
})

test("a reply of bytes keeps its own type and length; HEAD tells the length and sends nothing", async t => {
  const p = await platform(t)
  const headers = await authorized(p)

  const whole = await p.request("/v1/probe/bytes", { headers })
  assert.equal(await whole.text(), "these bytes")
  const head = await p.request("/v1/probe/bytes", { method: "HEAD", headers })
  assert.deepEqual(
    [whole, head].map(({ headers: sent }) => sent.get("content-length")),
    ["11", "11"],
  )
  assert.equal(whole.headers.get("content-type"), "text/x-probe")
  assert.equal(await head.text(), "")
})

test("a refusal that can have no body says why in a header", async t => {
  const p = await platform(t)
  const response = await p.request("/v1/probe/bytes?missing=true", {
    method: "HEAD",
    headers: await authorized(p),
  })
  assert.deepEqual([response.status, response.headers.get("x-error-code")], [404, "object_not_found"])
})

test("a key is replayed for the same bytes only, as far as their headers tell, and on any length of path", async t => {
  const p = await platform(t)
  const headers = { ...(await authorized(p)), "idempotency-key": "once" }
  const send = async (body: string) =>
    (await p.request(`${FOLDER}/${"long/".repeat(600)}`, { method: "PUT", headers, body })).status

  assert.deepEqual([await send("123"), await send("123"), await send("1234")], [200, 200, 400])
  assert.equal(p.effects.length, 1)
})
