/** Terminals in sandboxes: what is typed, what comes back, and how fast. */

import assert from "node:assert/strict"
import { after, before, type TestContext, test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { openTerminal, type TestTerminal } from "../../testing/terminals.ts"
import { runningSandbox, SANDBOX_SCOPES } from "./testing/sandboxes.ts"

/** For all tests: each opens terminals of its own. */
let p: TestPlatform
let secret: string
let id: string
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
  secret = (await p.key("acme", SANDBOX_SCOPES)).secret
  id = await runningSandbox(p.as(secret), { idle_timeout_seconds: 0, memory_mb: 512 })
})
after(() => opened.disposeAsync())

const open = (t: TestContext, query: Readonly<Record<string, string>> = {}): Promise<TestTerminal> =>
  openTerminal(t, p.url, `/v1/sandboxes/${id}/terminal?${new URLSearchParams(query)}`, { secret })

const output = async (command: string): Promise<string> =>
  (await p.as(secret).sandboxes.runCommand({ id, command })).stdout

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, at) => at))

test("a client types into a sandbox's shell, sees what it says and how it ended", async t => {
  const terminal = await open(t, { columns: "91", rows: "17" })
  assert.equal(terminal.headers["sec-websocket-protocol"], "svc.terminal.v1")
  assert.ok(terminal.headers["x-request-id"])
  terminal.type("stty size; echo $((40 + 2)); echo $TERM; pwd; id -un\n")
  await terminal.until(/17 91\r\n42\r\nxterm-256color\r\n\/workspace\r\nuser\r\n/)
  terminal.say({ type: "resize", columns: 132, rows: 50 })
  terminal.type("stty size\n")
  await terminal.until("50 132\r\n")
  terminal.type("exit 7\n")
  assert.deepEqual(await terminal.closed, { code: 1000, reason: "" })
  assert.deepEqual(terminal.said, [{ type: "exit", exit_code: 7, signal: null }])
})

test("a command, its directory, its user and the kind of terminal can be chosen", async t => {
  const command = "echo $TERM; pwd; id -un; kill -KILL $$"
  const terminal = await open(t, { command, cwd: "/tmp", user: "root", term: "vt100" })
  assert.equal((await terminal.closed).code, 1000)
  assert.equal(terminal.bytes().toString(), "vt100\r\n/tmp\r\nroot\r\n")
  assert.deepEqual(terminal.said, [{ type: "exit", exit_code: 137, signal: "SIGKILL" }])
})

test("Ctrl-C interrupts what runs, and the end of the input is Ctrl-D", async t => {
  const command = "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done"
  const busy = await open(t, { command })
  await busy.until("ready")
  busy.type("\x03")
  await busy.closed
  assert.match(busy.bytes().toString(), /caught/)
  assert.deepEqual(busy.said, [{ type: "exit", exit_code: 3, signal: null }])

  const reader = await open(t, { command: "echo ready; cat; echo over" })
  await reader.until("ready")
  reader.say({ type: "end" })
  await reader.closed
  assert.match(reader.bytes().toString(), /over/)
})

test("bytes that are no text pass both ways, as do messages in many frames", async t => {
  const terminal = await open(t, { command: "stty raw -echo; printf ready; exec cat" })
  await terminal.until("ready")
  for (const [at, byte] of everyByte.entries())
    terminal.socket.send(Buffer.of(byte), { binary: true, fin: at === 255 })
  terminal.socket.send(everyByte)
  await eventually(
    "both are back",
    async () => terminal.bytes().length,
    length => length >= 5 + 512,
  )
  assert.deepEqual(terminal.bytes(), Buffer.concat([Buffer.from("ready"), everyByte, everyByte]))
})

test("without a terminal the outputs are told apart, and nothing is changed in them", async t => {
  const piped = await open(t, { command: "cat; printf 'no\\n' >&2; tty; exit 4", tty: "false" })
  const messages: Buffer[] = []
  piped.socket.on("message", (data, isBinary) => isBinary && messages.push(data as Buffer))
  piped.socket.send(everyByte)
  piped.say({ type: "end" })
  await piped.closed
  const of = (mark: number) =>
    Buffer.concat(messages.filter(([first]) => first === mark).map(message => message.subarray(1)))
  assert.deepEqual(of(1), Buffer.concat([everyByte, Buffer.from("not a tty\n")]))
  assert.equal(of(2).toString(), "no\n")
  assert.deepEqual(piped.said, [{ type: "exit", exit_code: 4, signal: null }])
})

const FLOOD_BYTES = 8_000_000
const flood = (name: string) =>
  `stty -onlcr; echo ready; head -c ${FLOOD_BYTES} /dev/zero | tr '\\0' x; touch ${name}`

test("a command waits for a client that does not read, and loses nothing", async t => {
  // More than the buffers of both ends' systems take.
  const bytes = 64_000_000
  const command = `stty -onlcr; head -c ${bytes} /dev/zero | tr '\\0' x; touch all-was-read`
  const slow = await open(t, { command })
  slow.socket.pause()
  await eventually(
    "it writes",
    () => output("grep -l ^tr /proc/[0-9]*/comm"),
    found => found !== "",
  )
  assert.equal(await output("ls all-was-read 2>/dev/null"), "")
  slow.socket.resume()
  assert.equal((await slow.closed).code, 1000)
  assert.equal(slow.bytes().length, bytes)
})

test("a client with a window is sent no more than it acknowledges, and is told what was taken", async t => {
  const window = 65_536
  const slow = await open(t, { command: flood("window-was-read"), window: String(window) })
  await eventually(
    "the window is full",
    async () => slow.bytes().length,
    length => length >= window,
  )
  assert.equal(await output("ls window-was-read 2>/dev/null"), "")
  assert.equal(slow.bytes().length, window)
  let acknowledged = 0
  slow.socket.on("message", (data, isBinary) => {
    if (!isBinary) return
    assert.ok(slow.bytes().length - acknowledged <= window)
    acknowledged += (data as Buffer).length
    slow.say({ type: "ack", bytes: (data as Buffer).length })
  })
  acknowledged = window
  slow.say({ type: "ack", bytes: window })
  assert.equal((await slow.closed).code, 1000)
  assert.equal(slow.bytes().length, FLOOD_BYTES + "ready\n".length)
})

test("a client that sends more than a command reads is made to wait", async t => {
  const window = 65_536
  const command = "until [ -e go-on ]; do sleep 0.05; done; wc -c"
  const terminal = await open(t, { command, tty: "false", window: String(window) })
  const taken = () =>
    terminal.said.reduce<number>((sum, message) => sum + ((message as { bytes?: number }).bytes ?? 0), 0)
  const part = Buffer.alloc(window)
  for (let at = 0; at < 512; at++) terminal.socket.send(part)
  terminal.say({ type: "end" })
  // What the pipe and the agent hold.
  await eventually(
    "it begins to be taken",
    async () => taken(),
    bytes => bytes > 0,
  )
  assert.equal(await output("echo here"), "here\n")
  assert.ok(taken() < 4_000_000, `${taken()} bytes were taken that nobody read`)
  assert.ok(terminal.socket.bufferedAmount > 0)
  await output("touch go-on")
  await terminal.closed
  assert.equal(terminal.bytes().subarray(1).toString(), `${512 * window}\n`)
  assert.ok(512 * window - taken() < window)
})

test("a client that leaves hangs up the command, and what does not mind is killed", async t => {
  const polite = await open(t, {
    // Without another program: it has some seconds until it is killed.
    command: "trap ': >hung-up; exit' HUP; echo ready; while :; do sleep 0.05; done",
  })
  await polite.until("ready")
  polite.socket.terminate()
  await eventually(
    "it has heard",
    () => output("ls hung-up 2>/dev/null"),
    found => found !== "",
  )

  const stubborn = await open(t, {
    command: "trap '' HUP; echo ready; exec sleep 1000",
  })
  const sleepers = () => output("grep -l '^sleep' /proc/[0-9]*/comm")
  await eventually("it runs", sleepers, found => found !== "")
  stubborn.socket.close()
  await eventually("it is gone", sleepers, found => found === "")
})

test("a sandbox has at most 32 terminals, and one that ends makes room", async t => {
  const query = { command: "cat", tty: "false" }
  const all = await Promise.all(Array.from({ length: 32 }, () => open(t, query)))
  await assert.rejects(open(t, query), /429.*too_many_terminals/)
  const [first] = all
  first?.say({ type: "end" })
  await first?.closed
  const again = async () => {
    const { status } = await p.request(`/v1/sandboxes/${id}/terminal`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    return status
  }
  await eventually("there is room", again, status => status === 426)
  await open(t, query)
})
