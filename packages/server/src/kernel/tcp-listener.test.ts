/** A port listens before who serves it is loaded. */
import assert from "node:assert/strict"
import { connect } from "node:net"
import { type TestContext, test } from "node:test"
import { createLog } from "./log.ts"
import { type Accept, openTcpListener } from "./tcp-listener.ts"

const answer: Accept = socket => void socket.on("data", data => socket.end(`served ${data}`))

const open = async (t: TestContext, server: () => Promise<Accept | undefined>) => {
  const listener = await openTcpListener({ host: "127.0.0.1", port: 0, server, log: createLog("silent") })
  t.after(() => listener[Symbol.asyncDispose]())
  return listener
}

interface Client {
  readonly heard: Promise<string>
}

/** Connected, with the words said. What it heard ends with the connection, however that ends. */
const say = async (port: number, words: string): Promise<Client> => {
  const socket = connect({ host: "127.0.0.1", port })
  const parts: Buffer[] = []
  socket.on("data", part => parts.push(part))
  socket.on("error", () => undefined)
  const heard = new Promise<string>(resolve => {
    socket.on("close", () => resolve(Buffer.concat(parts).toString()))
  })
  await new Promise(resolve => socket.once("connect", resolve))
  socket.write(words)
  return { heard }
}

test("who serves a port is found at the first connection, which keeps what it said meanwhile", async t => {
  const found = Promise.withResolvers<Accept>()
  let asked = 0
  const { port } = await open(t, () => {
    asked += 1
    return found.promise
  })
  assert.equal(asked, 0)
  const first = await say(port, "one")
  const second = await say(port, "two")
  found.resolve(answer)
  assert.deepEqual(await Promise.all([first.heard, second.heard]), ["served one", "served two"])
})

test("a connection ends where nobody serves, and the next asks anew", async t => {
  const answers = [async () => undefined, () => Promise.reject(new Error("not now")), async () => answer]
  const { port } = await open(t, async () => await answers.shift()?.())
  for (const expected of ["", "", "served words"]) {
    const { heard } = await say(port, "words")
    assert.equal(await heard, expected)
  }
})

test("more than a hundred who wait are turned away", async t => {
  const found = Promise.withResolvers<Accept>()
  const { port } = await open(t, () => found.promise)
  const waiting = await Promise.all(Array.from({ length: 100 }, () => say(port, "x")))
  const late = await say(port, "too many")
  assert.equal(await late.heard, "")
  found.resolve(answer)
  const words = await Promise.all(waiting.map(({ heard }) => heard))
  assert.deepEqual(new Set(words), new Set(["served x"]))
})
