/** What ends a terminal, and what its client is told. */

import assert from "node:assert/strict"
import { connect } from "node:net"
import { type TestContext, test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { openTerminal, type TestTerminal } from "../../testing/terminals.ts"
import { runningSandbox, SANDBOX_SCOPES } from "./testing/sandboxes.ts"

const SECOND = 1_000
const LASTING = { idle_timeout_seconds: 0 } as const

interface World {
  readonly p: TestPlatform
  readonly secret: string
  readonly keyId: string
  readonly svc: ReturnType<TestPlatform["as"]>
}

const start = async (t: TestContext): Promise<World> => {
  const p = await platform(t)
  const { secret, id: keyId } = await p.key("acme", SANDBOX_SCOPES)
  return { p, secret, keyId, svc: p.as(secret) }
}

const open = (t: TestContext, { p, secret }: World, id: string, options = {}) =>
  openTerminal(t, p.url, `/v1/sandboxes/${id}/terminal`, { secret, ...options })

let echoes = 0
/** Whatever the client sent before has been heard when this is answered. */
const roundTrip = async (terminal: TestTerminal) => {
  echoes += 1
  terminal.type(`echo $((1000 + ${echoes}))\n`)
  await terminal.until(`${1000 + echoes}\r\n`)
}

test("the end of the sandbox ends its terminals: deadline, stop and deletion", async t => {
  const world = await start(t)
  const { p, svc } = world
  const ended = { code: 1001, reason: "the machine has ended" }

  const late = await runningSandbox(svc, { timeout_seconds: 20, idle_timeout_seconds: 0 })
  const first = await open(t, world, late)
  await roundTrip(first)
  await p.clock.advance(20 * SECOND)
  assert.deepEqual(await first.closed, ended)

  const persistent = await runningSandbox(svc, { kind: "persistent", vcpus: 1, memory_mb: 512, disk_gb: 10 })
  const second = await open(t, world, persistent)
  await roundTrip(second)
  await svc.sandboxes.stop({ id: persistent })
  assert.deepEqual(await second.closed, ended)

  const deleted = await runningSandbox(svc, LASTING)
  const third = await open(t, world, deleted)
  await roundTrip(third)
  await svc.sandboxes.delete({ id: deleted })
  assert.deepEqual(await third.closed, ended)
})

test("a sandbox counts as used while a terminal is open, and as idle from its end on", async t => {
  const world = await start(t)
  const { p, svc } = world
  const id = await runningSandbox(svc, { timeout_seconds: 300, idle_timeout_seconds: 60 })
  const terminal = await open(t, world, id)
  for (let at = 0; at < 5; at++) {
    await roundTrip(terminal)
    await p.clock.advance(20 * SECOND)
  }
  assert.equal((await svc.sandboxes.get({ id })).status, "RUNNING")
  terminal.type("exit\n")
  await terminal.closed
  const status = async () => {
    await p.clock.advance(SECOND)
    return (await svc.sandboxes.get({ id })).status
  }
  await eventually("it is idle", status, found => found === "STOPPED")
})

/** Writes for ever, and counts how much it could. */
const COUNTING = 'part=$(printf %04096d 0); while :; do printf %s "$part"; printf x >>written; done'

/** Whether nothing more fits between that command and its client. */
const isKept = async (svc: World["svc"], id: string): Promise<boolean> => {
  const written = async () => (await svc.sandboxes.runCommand({ id, command: "wc -c <written" })).stdout
  const first = await written()
  for (let look = 0; look < 5; look++) if ((await written()) !== first) return false
  return first !== ""
}

test("a client that answers no ping is taken for gone; one that has much to read is not", async t => {
  const world = await start(t)
  const { p, svc } = world
  const id = await runningSandbox(svc, LASTING)
  const alive = await open(t, world, id)
  const dead = await open(t, world, id, { autoPong: false })
  const query = new URLSearchParams({ command: COUNTING })
  const busy = await openTerminal(t, p.url, `/v1/sandboxes/${id}/terminal?${query}`, {
    secret: world.secret,
    autoPong: false,
  })
  await busy.until("0")
  busy.socket.pause()
  // As long as the systems between them take more, there is nothing that waits for it.
  await eventually(
    "it has much to read",
    () => isKept(svc, id),
    kept => kept,
  )
  await roundTrip(dead)
  await p.clock.advance(30 * SECOND)
  await roundTrip(alive)
  assert.equal(dead.socket.readyState, dead.socket.OPEN)
  await p.clock.advance(30 * SECOND)
  assert.equal((await dead.closed).code, 1006)
  await roundTrip(alive)
  busy.socket.resume()
  const before = busy.bytes().length
  await eventually(
    "it reads on",
    async () => busy.bytes().length,
    length => length > before,
  )
})

test("a key that is revoked loses its terminals at once, and a session that ends within a quarter of a minute", async t => {
  const world = await start(t)
  const { p, svc } = world
  const id = await runningSandbox(svc, LASTING)
  const reason = "the key or session may not do this any more"
  const other = await p.key("acme", SANDBOX_SCOPES)
  const stays = await openTerminal(t, p.url, `/v1/sandboxes/${id}/terminal`, { secret: other.secret })
  const terminal = await open(t, world, id)
  await roundTrip(terminal)
  const person = await p.person("acme")
  await person.keys.delete({ id: world.keyId })
  assert.deepEqual(await terminal.closed, { code: 1008, reason })
  await roundTrip(stays)

  const headers = await p.session("acme")
  const { projectId } = await p.tenant("acme")
  const signedIn = await openTerminal(t, p.url, `/v1/sandboxes/${id}/terminal`, {
    headers: { ...headers, "x-svc-project": projectId },
  })
  await roundTrip(signedIn)
  const logout = await p.request("/v1/account/logout", {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: "{}",
  })
  assert.equal(logout.status, 204)
  await p.clock.advance(15 * SECOND)
  assert.deepEqual(await signedIn.closed, { code: 1008, reason })
  await roundTrip(stays)
})

test("a member who gets another role or is removed loses the terminals at once", async t => {
  const { p, svc } = await start(t)
  const id = await runningSandbox(svc, LASTING)
  const { projectId, organizationId: org_id } = await p.tenant("acme")
  const owner = await p.person("acme")
  const headers = await p.session("acme", "member")
  const account = await p.request("/v1/account", { headers })
  const { data } = (await account.json()) as { data: { id: string } }
  const connect = () =>
    openTerminal(t, p.url, `/v1/sandboxes/${id}/terminal`, {
      headers: { ...headers, "x-svc-project": projectId },
    })
  const closed = { code: 1008, reason: "the key or session may not do this any more" }

  const first = await connect()
  await roundTrip(first)
  await owner.organizations.updateMember({ org_id, user_id: data.id, role: "admin" })
  assert.deepEqual(await first.closed, closed)
  const second = await connect()
  await roundTrip(second)
  await owner.organizations.removeMember({ org_id, user_id: data.id })
  assert.deepEqual(await second.closed, closed)
})

test("the platform's stop ends terminals, also of clients that do not read, and is not held up by them", async t => {
  const world = await start(t)
  const { p, svc } = world
  const id = await runningSandbox(svc, LASTING)
  const terminal = await open(t, world, id)
  await roundTrip(terminal)
  const flooded = await openTerminal(t, p.url, `/v1/sandboxes/${id}/terminal?command=yes`, {
    secret: world.secret,
  })
  await flooded.until("y")
  flooded.socket.pause()
  await p[Symbol.asyncDispose]()
  assert.deepEqual(await terminal.closed, { code: 1012, reason: "the server is shutting down" })
})

test("messages that are no messages end the terminal, and say so", async t => {
  const world = await start(t)
  const id = await runningSandbox(world.svc, LASTING)
  const wrong = [
    "",
    "{",
    "[]",
    "null",
    '{"type":"resize"}',
    '{"type":"resize","columns":0,"rows":1}',
    '{"type":"resize","columns":1.5,"rows":1}',
    '{"type":"resize","columns":"80","rows":24}',
    '{"type":"resize","columns":99999,"rows":24}',
    // Nothing was sent that could be acknowledged, and there is no window.
    '{"type":"ack","bytes":1}',
    '{"type":"exit"}',
    `{"type":"end","more":"${"x".repeat(2000)}"}`,
  ]
  for (const text of wrong) {
    const terminal = await open(t, world, id)
    terminal.socket.send(text)
    assert.deepEqual(await terminal.closed, { code: 1008, reason: "no message that a terminal knows" }, text)
  }
  const windowed = await openTerminal(t, world.p.url, `/v1/sandboxes/${id}/terminal?window=4096`, {
    secret: world.secret,
  })
  windowed.say({ type: "ack", bytes: 1_000_000 })
  assert.equal((await windowed.closed).code, 1008)

  const large = await open(t, world, id)
  large.socket.send(Buffer.alloc(1024 * 1024 + 1))
  assert.equal((await large.closed).code, 1009)

  const pieces = await open(t, world, id)
  for (let at = 0; at < 3; at++) pieces.socket.send(Buffer.alloc(400_000), { binary: true, fin: false })
  assert.equal((await pieces.closed).code, 1009)
})

/** The code of the close frame that answers these bytes. */
const closeCodeAfter = async ({ p, secret }: World, id: string, frames: Buffer): Promise<number> => {
  const { hostname, port } = new URL(p.url)
  const socket = connect(Number(port), hostname)
  const head = [
    `GET /v1/sandboxes/${id}/terminal?command=cat&tty=false HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${secret}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Extensions: permessage-deflate",
  ]
  // Some of it in the packet of the handshake.
  socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), frames.subarray(0, 3)]))
  socket.write(frames.subarray(3))
  const answer = Buffer.concat(await socket.toArray())
  const end = answer.indexOf("\r\n\r\n")
  const text = answer.subarray(0, end).toString()
  assert.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  assert.doesNotMatch(text, /sec-websocket-(extensions|protocol)/i)
  const frame = answer.subarray(end + 4)
  assert.equal(frame[0], 0x88)
  return frame.readUInt16BE(2)
}

test("frames that are compressed, not masked or of no kind break the connection as the protocol says", async t => {
  const world = await start(t)
  const id = await runningSandbox(world.svc, LASTING)
  const mask = Buffer.alloc(4)
  const frames = {
    compressed: Buffer.from([0xc2, 0x81, ...mask, 1]),
    "not masked": Buffer.from([0x82, 0x01, 1, 0, 0]),
    "of no kind": Buffer.from([0x83, 0x81, ...mask, 1]),
    "a fragment of nothing": Buffer.from([0x80, 0x81, ...mask, 1]),
  }
  for (const [name, bytes] of Object.entries(frames))
    assert.equal(await closeCodeAfter(world, id, bytes), 1002, name)
  const notText = Buffer.from([0x81, 0x82, ...mask, 0xff, 0xff])
  assert.equal(await closeCodeAfter(world, id, notText), 1007)
})
