/** Files that write themselves to a connection. */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { DirectBody } from "../../kernel/direct-body.ts"
import { openDiskBlobs } from "./drivers/disk/driver.ts"

const MIB = 1024 ** 2
/** A busy machine is slow. */
const PATIENCE = { timeout: 60_000 }
const OWNER = "00000000-0000-7000-8000-000000000000"

function* noise(bytes: number) {
  for (let at = 0; at < bytes; at += MIB / 4) yield Buffer.alloc(Math.min(MIB / 4, bytes - at), at / 7)
}

/** A server that answers each request with the blob. */
const serveBlob = async (t: TestContext, bytes: number) => {
  const path = await mkdtemp(join(tmpdir(), "svc-file-body-"))
  t.after(() => rm(path, { recursive: true, force: true }))
  const blobs = await openDiskBlobs({ path })
  const staged = await blobs.stage(
    OWNER,
    (async function* () {
      yield* noise(bytes)
    })(),
    { bytesMax: bytes },
  )
  await staged.publish()
  let ended = 0
  const server = createServer(async (_request, response) => {
    const body = await blobs.read(OWNER, staged.address, { start: 0, end: bytes - 1 })
    assert.ok(body instanceof DirectBody)
    response.writeHead(200, { "content-length": bytes })
    await body.sendTo(response).then(
      () => response.end(),
      () => response.destroy(),
    )
    ended++
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** Files of the store that this process has open. */
  const openFiles = async () => {
    const links = (await readdir("/proc/self/fd")).map(fd => readlink(`/proc/self/fd/${fd}`).catch(() => ""))
    return (await Promise.all(links)).filter(link => link.startsWith(path)).length
  }
  return { port, openFiles, ended: () => ended }
}

test("many readers at once get all the bytes, each of them in order", async t => {
  const bytes = 5 * MIB + 7
  const { port, openFiles } = await serveBlob(t, bytes)
  const sha256 = createHash("sha256")
  for (const chunk of noise(bytes)) sha256.update(chunk)
  const expected = sha256.digest("hex")
  const readers = Array.from({ length: 12 }, async () => {
    const { body } = await fetch(`http://127.0.0.1:${port}/`)
    const hash = createHash("sha256")
    for await (const chunk of body ?? []) hash.update(chunk)
    assert.equal(hash.digest("hex"), expected)
  })
  await Promise.all(readers)
  await t.waitFor(async () => assert.equal(await openFiles(), 0), PATIENCE)
})

test("a reader that hangs up, before the first byte or after some, leaves no file open", async t => {
  const { port, openFiles, ended } = await serveBlob(t, 20 * MIB)
  const READERS = 40
  for (let reader = 0; reader < READERS; reader++) {
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => undefined)
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    if (reader % 2 === 0) setImmediate(() => socket.destroy())
    else socket.once("data", () => socket.destroy())
    await new Promise(resolve => socket.once("close", resolve))
  }
  await t.waitFor(async () => {
    assert.ok(ended() >= READERS / 2)
    assert.equal(await openFiles(), 0)
  }, PATIENCE)
})
