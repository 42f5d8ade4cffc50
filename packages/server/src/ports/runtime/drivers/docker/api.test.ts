import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { type TestContext, test } from "node:test"
import fc from "fast-check"
import { negotiate, openDockerApi, parseDockerHost } from "./api.ts"
import { openArrivals, SOCKET_NAME } from "./arrivals.ts"

const folderIn = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-docker-api-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test("the oldest version that both know is spoken, and Docker before 20.10 is refused", () => {
  assert.equal(negotiate({ ApiVersion: "1.41", MinAPIVersion: "1.12" }), "v1.41")
  assert.equal(negotiate({ ApiVersion: "1.52", MinAPIVersion: "1.44" }), "v1.44")
  assert.equal(negotiate({ ApiVersion: "1.41" }), "v1.41")
  for (const ApiVersion of ["1.40", "", "2.0", undefined])
    assert.throws(() => negotiate({ ApiVersion }), { kind: "refused" })
})

test("Docker is found where DOCKER_HOST would have it", () => {
  assert.deepEqual(parseDockerHost("unix:///run/a%20b.sock"), { socketPath: "/run/a b.sock" })
  assert.deepEqual(parseDockerHost("tcp://127.0.0.1:2375"), { host: "127.0.0.1", port: 2375 })
})

test("what the daemon refuses is told in its words, which are kept short", async t => {
  const server = createServer((request, response) => {
    const isVersion = request.url === "/version"
    response.writeHead(isVersion ? 200 : Number(request.url?.split("/").at(-1)), {
      "content-type": "application/json",
    })
    response.end(JSON.stringify(isVersion ? { ApiVersion: "1.41" } : { message: `no ${"x".repeat(9_000)}` }))
  })
  const path = join(await folderIn(t), "docker.sock")
  server.listen(path)
  t.after(() => server.close())
  await once(server, "listening")
  using api = await openDockerApi(`unix://${path}`)
  const kinds = [
    [404, "missing"],
    [409, "refused"],
    [500, "unavailable"],
  ] as const
  for (const [status, kind] of kinds)
    await assert.rejects(api.call("GET", `/${status}`), (error: Error & { kind: string }) => {
      assert.equal(error.kind, kind)
      assert.match(error.message, /: no xxx/)
      assert.ok(error.message.length < 500)
      return true
    })
  assert.equal(await api.call("GET", "/404", { accepts: [404] }), undefined)
})

test("an agent is known by its ticket, however the bytes are cut, and what it says after it is kept", async t => {
  await using arrivals = await openArrivals(join(await folderIn(t), "arrivals"))
  const path = join(arrivals.directory, SOCKET_NAME)
  const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), cuts, async (bytes, lengths) => {
      using expected = arrivals.expect()
      const sent = Buffer.concat([Buffer.from(`${expected.ticket}\n`), bytes])
      const client = connect(path)
      for (let at = 0, n = 0; at < sent.length; n += 1) {
        const length = lengths[n % lengths.length] ?? 1
        client.write(sent.subarray(at, at + length))
        at += length
        await new Promise(setImmediate)
      }
      client.end()
      const socket = await expected.arrived
      assert.deepEqual(await buffer(socket), Buffer.from(bytes))
      socket.destroy()
    }),
    { numRuns: 30 },
  )
})

test("a ticket is good once, and who has none is not let in", async t => {
  await using arrivals = await openArrivals(join(await folderIn(t), "arrivals"))
  using expected = arrivals.expect()
  const come = (line: string) => {
    const client = connect(join(arrivals.directory, SOCKET_NAME))
    client.on("error", () => undefined).end(line)
    client.resume()
    return once(client, "close")
  }
  await come(`${"0".repeat(36)}\n`)
  void come(`${expected.ticket}\n`)
  const socket = await expected.arrived
  await come(`${expected.ticket}\n`)
  socket.destroy()
})
