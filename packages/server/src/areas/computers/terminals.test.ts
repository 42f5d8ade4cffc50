/** Terminals of computers; areas/sandboxes/terminals.test.ts has what all terminals have in common. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { openTerminal, refusedTerminal } from "../../testing/terminals.ts"
import { runningComputer, SCOPES } from "./testing/computers.ts"

test("a terminal begins where a login by ssh does, as the user or as root, and is on record", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", SCOPES)
  const id = await runningComputer(p.as(secret), "web1")
  const path = `/v1/computers/${id}/terminal`

  const user = await openTerminal(t, p.url, path, { secret })
  user.type("pwd; id -un; shopt -q login_shell && echo login; exit\n")
  await user.closed
  assert.match(user.bytes().toString(), /\/home\/user\r\n/)
  assert.deepEqual(user.said, [{ type: "exit", exit_code: 0, signal: null }])
  const root = await openTerminal(t, p.url, `${path}?user=root&command=pwd;id%20-un`, { secret })
  await root.closed
  assert.equal(root.bytes().toString(), "/root\r\nroot\r\n")

  const { organizationId } = await p.tenant("acme")
  const entries = await p.database.db
    .selectFrom("core.audit_events")
    .select("outcome")
    .where("tenant_id", "=", organizationId)
    .where("action", "=", "computers.terminal")
    .orderBy("id")
    .execute()
  assert.deepEqual(
    entries.map(({ outcome }) => outcome),
    ["intent", "success", "intent", "success"],
  )
})

test("nobody else gets a terminal of a computer, and a stopped one has none", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", SCOPES)
  const svc = p.as(secret)
  const id = await runningComputer(svc, "web1")
  const path = `/v1/computers/${id}/terminal`
  const refused = (key: string | undefined, at = path) =>
    refusedTerminal(t, p.url, at, key === undefined ? {} : { secret: key })
  const reading = await p.key("acme", ["computers:read", "computers:write"])
  const readOnly = await p.key("acme", SCOPES, { read_only: true })
  const stranger = await p.key("globex", SCOPES)

  assert.deepEqual(await refused(undefined), [401, "missing_credentials"])
  assert.deepEqual(await refused(reading.secret), [403, "missing_scope"])
  assert.deepEqual(await refused(readOnly.secret), [403, "key_read_only"])
  assert.deepEqual(await refused(stranger.secret), [404, "computer_not_found"])
  assert.deepEqual(await refused(secret, `${path}?cwd=/no/such`), [400, "invalid_parameter"])

  const terminal = await openTerminal(t, p.url, path, { secret })
  const open = () => openTerminal(t, p.url, `${path}?command=cat&tty=false`, { secret })
  await Promise.all(Array.from({ length: 31 }, open))
  assert.deepEqual(await refused(secret), [429, "too_many_terminals"])
  await svc.computers.stop({ id })
  assert.deepEqual(await terminal.closed, { code: 1001, reason: "the machine has ended" })
  assert.deepEqual(await refused(secret), [409, "computer_not_running"])
})
