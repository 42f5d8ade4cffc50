import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { start, stop } from "./bench/platform.ts"
import { runLimited } from "./bench/run-part.ts"

const listen = async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  return { server, port: (server.address() as AddressInfo).port }
}

/** Starts a process that stays connected to a port, tells one figure and never ends. */
const endless = `
  import { spawn } from "node:child_process"
  const connected = 'require("node:net").connect(Number(process.argv[1]), "127.0.0.1")'
  spawn(process.execPath, ["-e", connected, process.argv[2]], { stdio: "ignore" })
  process.send({ first: 1 })
`

test("a part of the bench that does not end is ended with what it started, and what it had told is kept", async t => {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-test-"))
  const { server, port } = await listen()
  t.after(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  const module = join(folder, "endless.mjs")
  writeFileSync(module, endless)

  const limit = new AbortController()
  const outcome = runLimited("endless", [module, String(port)], limit.signal)
  const [socket] = (await once(server, "connection")) as [Socket]
  const closed = once(socket.on("error", () => undefined).resume(), "close")
  limit.abort()

  assert.deepEqual(await outcome, {
    figures: { first: 1, "endless: not finished": "it had no more time" },
    isWhole: false,
  })
  await closed
})

test("the bench takes nobody else's platform for its own", async t => {
  const { server, port } = await listen()
  t.after(() => server.close())
  await assert.rejects(start("", {}, port), /something listens on port \d+/)
})

test("a platform that has ended already is stopped", async () => {
  const child = spawn(process.execPath, ["-e", ""])
  await once(child, "exit")
  await stop(child)
})
