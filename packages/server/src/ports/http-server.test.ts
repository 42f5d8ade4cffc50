import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { createHttpServer, createTokenReader, readText } from "./http-server.ts"

/** A server that answers with what it was asked, and how many connections it has had. */
const startEcho = async (t: TestContext) => {
  const sockets = new Set<object>()
  const server = createServer(async (request, response) => {
    sockets.add(request.socket)
    const body = await request.toArray()
    const { method, url, headers } = request
    response.statusCode = 418
    response.end(
      JSON.stringify({ method, url, token: headers["x-token"], body: Buffer.concat(body).toString() }),
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const client = createHttpServer({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/below/`,
    socketsMax: 1,
  })
  t.after(() => {
    client[Symbol.dispose]()
    server.close()
  })
  return { client, connections: () => sockets.size }
}

test("a request goes below the server's own path, with its query, headers and body, and any status is a response", async t => {
  const { client, connections } = await startEcho(t)
  const { signal } = new AbortController()
  const post = { method: "POST", path: "/v1/a", headers: { "x-token": "t" }, body: "text é", signal } as const
  const response = await client.request(post)
  assert.equal(response.statusCode, 418)
  assert.deepEqual(JSON.parse(await readText(response, 1_000)), {
    method: "POST",
    url: "/below/v1/a",
    token: "t",
    body: "text é",
  })
  const second = await client.request({ method: "GET", path: "/b", query: { x: "1 2" }, headers: {}, signal })
  assert.equal(JSON.parse(await readText(second, 1_000)).url, "/below/b?x=1+2")
  assert.equal(connections(), 1, "the connection stays")
})

test("a response that is larger than allowed is an error, and so is a request that its signal ends", async t => {
  const { client } = await startEcho(t)
  const get = { method: "GET", path: "/", headers: {} } as const
  const response = await client.request({ ...get, signal: new AbortController().signal })
  await assert.rejects(readText(response, 10), { message: "the answer is too large" })
  await assert.rejects(client.request({ ...get, signal: AbortSignal.abort() }), { name: "AbortError" })
})

test("a token in a file is read again after a while, and one that is given is taken as it is", async t => {
  const folder = await mkdtemp(join(tmpdir(), "svc-token-"))
  t.after(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, "token")
  await writeFile(tokenFile, "first\n")
  const always = createTokenReader({ tokenFile }, 0)
  const seldom = createTokenReader({ tokenFile }, 60_000)
  assert.deepEqual([await always(), await seldom()], ["first", "first"])
  await writeFile(tokenFile, "second\n")
  assert.deepEqual([await always(), await seldom()], ["second", "first"])
  assert.equal(await createTokenReader({ token: "given" }, 0)(), "given")
})
