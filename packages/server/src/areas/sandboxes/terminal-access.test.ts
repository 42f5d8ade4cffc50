/** Who gets a terminal, and what everybody else is told. */
import assert from "node:assert/strict"
import { after, before, type TestContext, test } from "node:test"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { openTerminal, refusedTerminal, type TerminalOptions, tryTerminal } from "../../testing/terminals.ts"
import { runningSandbox, SANDBOX_SCOPES } from "./testing/sandboxes.ts"

const NOBODY = "00000000-0000-7000-8000-000000000000"

let p: TestPlatform
let secret: string
let id: string
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
  secret = (await p.key("acme", SANDBOX_SCOPES)).secret
  id = await runningSandbox(p.as(secret), { idle_timeout_seconds: 0 })
})
after(() => opened.disposeAsync())

const pathOf = (sandbox: string) => `/v1/sandboxes/${sandbox}/terminal`
const refused = (t: TestContext, options: TerminalOptions, path = pathOf(id)) =>
  refusedTerminal(t, p.url, path, options)
const opens = async (t: TestContext, options: TerminalOptions) => {
  const terminal = await openTerminal(t, p.url, `${pathOf(id)}?command=cat`, options)
  terminal.socket.terminate()
  return terminal
}

test("nobody opens a terminal without a key that may run commands", async t => {
  assert.deepEqual(await refused(t, {}), [401, "missing_credentials"])
  assert.deepEqual(await refused(t, { secret: "svc_sk_wrong" }), [401, "invalid_api_key"])
  const reading = await p.key("acme", ["sandboxes:read"])
  assert.deepEqual(await refused(t, { secret: reading.secret }), [403, "missing_scope"])
  const readOnly = await p.key("acme", SANDBOX_SCOPES, { read_only: true })
  assert.deepEqual(await refused(t, { secret: readOnly.secret }), [403, "key_read_only"])
  const { publishableKey } = await p.tenant("acme")
  assert.deepEqual(await refused(t, { secret: publishableKey }), [403, "publishable_key_not_allowed"])
})

test("the sandbox of another tenant or project answers like one that never was", async t => {
  const stranger = await p.key("globex", SANDBOX_SCOPES)
  const whole = await p.key("acme", SANDBOX_SCOPES, { project_id: null })
  for (const other of [stranger.secret, whole.secret]) {
    assert.deepEqual(await refused(t, { secret: other }), [404, "sandbox_not_found"])
    assert.deepEqual(await refused(t, { secret: other }, pathOf(NOBODY)), [404, "sandbox_not_found"])
  }
})

test("what cannot be run is refused before the connection changes", async t => {
  const refusedWith = (query: string) => refused(t, { secret }, `${pathOf(id)}?${query}`)
  for (const query of ["columns=0", "rows=x", "term=a%20b", "tty=maybe", "window=1", "colour=red", "user=me"])
    assert.deepEqual(await refusedWith(query), [400, "validation_failed"], query)
  assert.deepEqual(await refusedWith("cwd=/no/such"), [400, "invalid_parameter"])
  assert.deepEqual(await refusedWith("command=a%00b"), [400, "validation_failed"])
  const svc = p.as(secret)
  const stopped = await runningSandbox(svc, { kind: "persistent", vcpus: 1, memory_mb: 1024, disk_gb: 10 })
  await svc.sandboxes.stop({ id: stopped })
  assert.deepEqual(await refused(t, { secret }, pathOf(stopped)), [400, "sandbox_not_running"])
})

test("a browser's key comes as a subprotocol, which is not said back", async t => {
  const bearer = `svc.bearer.${secret}`
  const terminal = await opens(t, { protocols: [bearer, "svc.terminal.v1"] })
  assert.equal(terminal.headers["sec-websocket-protocol"], "svc.terminal.v1")
  assert.doesNotMatch(JSON.stringify(terminal.headers), /svc_sk/)
  assert.deepEqual(await refused(t, { protocols: ["svc.terminal.v1", "svc.bearer.svc_sk_wrong"] }), [
    401,
    "invalid_api_key",
  ])

  const whole = await p.key("acme", SANDBOX_SCOPES, { project_id: null })
  const { projectId } = await p.tenant("acme")
  const project = `svc.project.${projectId}`
  await opens(t, { protocols: ["svc.terminal.v1", `svc.bearer.${whole.secret}`, project] })
  // Which of two counts is not for us to guess.
  const other = (await p.key("acme", SANDBOX_SCOPES)).secret
  for (const options of [
    { protocols: ["svc.terminal.v1", bearer, `svc.bearer.${other}`] },
    { protocols: ["svc.terminal.v1", bearer], secret: other },
  ])
    assert.deepEqual(await refused(t, options), [400, "header_duplicated"])
})

test("a session opens terminals from the platform's own pages alone", async t => {
  const { projectId } = await p.tenant("acme")
  const { cookie = "", origin = "" } = await p.session("acme")
  const from = (headers: Record<string, string>) => ({
    protocols: ["svc.terminal.v1", `svc.project.${projectId}`],
    headers: { cookie, ...headers },
  })
  for (const foreign of ["https://evil.example", "null", `${origin}.evil.example`, "http://localhost:1"])
    assert.deepEqual(await refused(t, from({ origin: foreign })), [403, "csrf_failed"], foreign)
  assert.deepEqual(await refused(t, from({})), [403, "csrf_failed"])
  await opens(t, from({ origin }))
})

test("a request that is no handshake is told what is missing, where nothing else is", async t => {
  const headers = { authorization: `Bearer ${secret}` }
  const plain = await p.request(pathOf(id), { headers })
  assert.equal(plain.status, 426)
  assert.equal(((await plain.json()) as { code: string }).code, "upgrade_required")
  assert.deepEqual(
    ["upgrade", "sec-websocket-version"].map(name => plain.headers.get(name)),
    ["websocket", "13"],
  )
  assert.equal((await p.request(pathOf(NOBODY), { headers })).status, 404)
  assert.equal((await p.request(pathOf(id))).status, 401)
  assert.equal((await p.request(pathOf(id), { method: "POST", headers })).status, 405)

  for (const options of [{ protocolVersion: 8 }, { protocols: ["svc.terminal.v2"] }]) {
    const found = await tryTerminal(t, p.url, pathOf(id), { secret, ...options })
    assert.ok("code" in found)
    assert.deepEqual([found.status, found.code], [426, "upgrade_required"])
  }
})

test("only operations that are WebSockets change the protocol", async t => {
  const found = await tryTerminal(t, p.url, "/v1/sandboxes", { secret })
  assert.ok("code" in found)
  assert.equal(found.status, 200)
})

test("that a terminal was opened is on record, with who did and without what for", async t => {
  const { organizationId } = await p.tenant("acme")
  const terminal = await openTerminal(t, p.url, `${pathOf(id)}?command=echo%20secret-words`, { secret })
  await terminal.closed
  const entries = await p.database.db
    .selectFrom("core.audit_events")
    .selectAll()
    .where("tenant_id", "=", organizationId)
    .where("action", "=", "sandboxes.terminal")
    .where("outcome", "=", "success")
    .execute()
  assert.ok(entries.length > 0)
  const text = JSON.stringify(entries)
  assert.ok(text.includes(id))
  assert.doesNotMatch(text, /secret-words|svc_sk/)
})
