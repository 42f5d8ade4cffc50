/** The SDK's terminals. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { type Svc, SvcError, type Terminal } from "@svc/sdk"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES } from "./testing/sandboxes.ts"

let p: TestPlatform
let svc: Svc
let id: string
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
  svc = await p.client("acme", ...SANDBOX_SCOPES)
  id = await runningSandbox(svc, { idle_timeout_seconds: 0 })
})
after(() => opened.disposeAsync())

const textOf = async (stream: ReadableStream<Uint8Array>) =>
  Buffer.concat(await Array.fromAsync(stream)).toString()

const typing = ({ input }: Terminal) => {
  const writer = input.getWriter()
  return { type: (text: string) => writer.write(Buffer.from(text)), end: () => writer.close() }
}

test("a terminal has input, output, a size and an end", async () => {
  const terminal = await svc.sandboxes.terminal({ id, columns: 50, rows: 20 })
  terminal.resize({ columns: 51, rows: 21 })
  const { type } = typing(terminal)
  await type("until [ \"$(stty size)\" = '21 51' ]; do sleep 0.05; done; echo $((1 + 1))-sized; exit 3\n")
  const text = await textOf(terminal.output)
  assert.match(text, /2-sized\r\n/)
  assert.equal(await textOf(terminal.errors), "")
  assert.deepEqual(await terminal.exited, { exit_code: 3, signal: null })
  await assert.rejects(type("more"), TypeError)
})

test("pipes have two outputs, and an input that ends", async () => {
  const piped = await svc.sandboxes.terminal({ id, tty: false, command: "wc -c; echo no >&2; kill -TERM $$" })
  const { type, end } = typing(piped)
  await type("x".repeat(2_000_000))
  await end()
  assert.deepEqual([await textOf(piped.output), await textOf(piped.errors)], ["2000000\n", "no\n"])
  assert.deepEqual(await piped.exited, { exit_code: 143, signal: "SIGTERM" })
})

test("a command waits for who reads its output, and not for an output that nobody wants", async () => {
  const command = "head -c 4000000 /dev/zero; touch was-read; head -c 4000000 /dev/zero >&2"
  const slow = await svc.sandboxes.terminal({ id, tty: false, command })
  const reader = slow.output.getReader()
  const first = await reader.read()
  const seen = await svc.sandboxes.runCommand({ id, command: "ls was-read" })
  assert.notEqual(seen.exit_code, 0)
  let bytes = first.value?.byteLength ?? 0
  await slow.errors.cancel()
  for (let part = await reader.read(); !part.done; part = await reader.read()) bytes += part.value.byteLength
  assert.equal(bytes, 4_000_000)
  assert.equal((await slow.exited).exit_code, 0)
})

test("leaving ends the command, and whoever waits for its end is told", async () => {
  const left = await svc.sandboxes.terminal({ id })
  left.close()
  await assert.rejects(left.exited, refusedAs("connection_closed", 0))
  const leaving = new AbortController()
  const aborted = await svc.sandboxes.terminal({ id }, { signal: leaving.signal })
  leaving.abort()
  await assert.rejects(aborted.exited, refusedAs("connection_closed", 0))
  await assert.rejects(svc.sandboxes.terminal({ id }, { signal: leaving.signal }), { name: "AbortError" })

  const brief = await runningSandbox(svc)
  const lost = await svc.sandboxes.terminal({ id: brief })
  await svc.sandboxes.delete({ id: brief })
  await assert.rejects(lost.exited, /the machine has ended/)
  assert.equal(typeof (await textOf(lost.output)), "string")
})

test("a refusal says what any other does, though a WebSocket tells its client nothing", async () => {
  const missing = "00000000-0000-7000-8000-000000000000"
  await assert.rejects(svc.sandboxes.terminal({ id: missing }), refusedAs("sandbox_not_found", 404))
  await assert.rejects(p.as("svc_sk_wrong").sandboxes.terminal({ id }), refusedAs("invalid_api_key", 401))
  const reading = await p.client("acme", "sandboxes:read")
  await assert.rejects(reading.sandboxes.terminal({ id }), refusedAs("missing_scope", 403))
  await assert.rejects(svc.sandboxes.terminal({ id, cwd: "/no/such" }), (error: unknown) => {
    assert.ok(error instanceof SvcError)
    return error.code === "invalid_parameter"
  })
  const whole = (await p.key("acme", SANDBOX_SCOPES, { project_id: null })).secret
  const { projectId } = await p.tenant("acme")
  const elsewhere = p.as(whole, { project: projectId })
  const terminal = await elsewhere.sandboxes.terminal({ id, command: "true" })
  assert.equal((await terminal.exited).exit_code, 0)
})
