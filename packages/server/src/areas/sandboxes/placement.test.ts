/** Several processes of one installation: whichever is asked, the host that has the sandbox, or room for it, answers. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { type TestContext, test } from "node:test"
import type { ServerSentEvent } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { hostsOf } from "../../testing/hosts.ts"
import type { TestPlatform } from "../../testing/platform.ts"
import { openTerminal, refusedTerminal } from "../../testing/terminals.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

const pairOf = async (t: TestContext, one = {}, other = {}) => {
  const [here, there] = (await hostsOf(t, one, other)) as [TestPlatform, TestPlatform]
  const { secret } = await here.key("acme", SANDBOX_SCOPES)
  return { here, there, secret, owner: here.as(secret), far: there.as(secret) }
}

/** All that comes back for these bytes. */
const exchange = async (port: number, bytes: string): Promise<string> => {
  const socket = connect(port, "127.0.0.1")
  socket.write(bytes)
  return (await text(socket)).toString()
}

const eventsOf = (events: unknown) => events as AsyncIterable<ServerSentEvent>

test("what concerns a sandbox is answered by its host, whichever process is asked", async t => {
  const { owner, far } = await pairOf(t)
  const id = await runningSandbox(owner, { kind: "persistent", memory_mb: 512, vcpus: 1 })
  const { host_id } = await owner.sandboxes.get({ id })
  const { sandboxes } = far
  await sandboxes.writeFiles({ id, files: [{ path: "a", content: "one" }] })
  await sandboxes.putFile({ id, path: "tmp/b" }, { body: Buffer.alloc(3_000_000, "b") })
  const ran = await sandboxes.runCommand({ id, command: "cat a; wc -c </tmp/b; exit 3" })
  assert.deepEqual([ran.stdout, ran.exit_code], ["one3000000\n", 3])
  const read = await sandboxes.readFile({ id, path: "tmp/b" })
  assert.equal((await read.arrayBuffer()).byteLength, 3_000_000)
  assert.ok((await sandboxes.metrics({ id })).memory_used_bytes > 0)

  const kinds: (string | undefined)[] = []
  for await (const { event } of eventsOf(
    await sandboxes.streamCommand({ id, command: "echo x; echo y >&2" }),
  ))
    kinds.push(event)
  assert.deepEqual(kinds.toSorted(), ["exit", "stderr", "stdout"])

  assert.equal((await sandboxes.stop({ id })).status, "STOPPED")
  assert.equal((await owner.sandboxes.get({ id })).status, "STOPPED")
  await assert.rejects(sandboxes.runCommand({ id, command: "true" }), refusedAs("sandbox_not_running", 400))
  assert.equal((await sandboxes.start({ id })).status, "RUNNING")
  assert.equal((await sandboxes.runCommand({ id, command: "cat a" })).stdout, "one")
  assert.equal((await sandboxes.get({ id })).host_id, host_id)
})

test("a terminal is typed into through any process, and ends with either of them", async t => {
  const { here, there, owner, secret } = await pairOf(t)
  const id = await runningSandbox(owner)
  const terminal = await openTerminal(t, there.url, `/v1/sandboxes/${id}/terminal`, { secret })
  terminal.type("echo $((6 * 7))\r")
  await terminal.until("42")
  terminal.type("exit 5\r")
  assert.equal((await terminal.closed).code, 1000)
  assert.deepEqual(terminal.said.at(-1), { type: "exit", exit_code: 5, signal: null })

  const refused = await refusedTerminal(t, there.url, `/v1/sandboxes/${randomUUID()}/terminal`, { secret })
  assert.deepEqual(refused, [404, "sandbox_not_found"])
  const other = await openTerminal(t, there.url, `/v1/sandboxes/${id}/terminal`, { secret })
  await there[Symbol.asyncDispose]()
  await other.closed
  assert.equal((await here.as(secret).sandboxes.get({ id })).status, "RUNNING")
})

test("a port's URL leads to the sandbox, whichever process the name leads to", async t => {
  const { there, owner } = await pairOf(t)
  const id = await runningSandbox(owner, { ports: [3000], idle_timeout_seconds: 0 })
  const server = `use IO::Socket::INET; $| = 1;
    my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 3000, Listen => 5) or die;
    open my $up, '>', '/tmp/up'; close $up;
    while (my $c = $server->accept) {
      my $head = ''; while (my $line = <$c>) { last if $line eq "\\r\\n"; $head .= $line }
      if ($head =~ /^upgrade:/im) {
        print $c "HTTP/1.1 101 X\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n"; $c->flush;
        sysread $c, my $bytes, 100; syswrite $c, uc $bytes; close $c; next }
      print $c "HTTP/1.1 200 OK\\r\\nSet-Cookie: a=1\\r\\nSet-Cookie: b=2\\r\\nConnection: close\\r\\n\\r\\n$head"; close $c }`
  await owner.sandboxes.writeFiles({ id, files: [{ path: "/tmp/server.pl", content: server }] })
  const command = "perl /tmp/server.pl >/tmp/log 2>&1 & until [ -e /tmp/up ]; do sleep 0.02; done"
  await owner.sandboxes.runCommand({ id, command })
  const { urls } = await owner.sandboxes.get({ id })
  const { host } = new URL(urls[0]?.url ?? "")
  const ask = (head: string) => exchange(Number(new URL(there.url).port), `${head.replace("HOST", host)}`)

  const answer = await ask(
    "GET /x?y=1 HTTP/1.1\r\nHost: HOST\r\nX-Svc-Relayed: me\r\nConnection: close\r\n\r\n",
  )
  assert.match(answer, /^HTTP\/1\.1 200 .*GET \/x\?y=1 HTTP/s)
  assert.match(answer, /set-cookie: a=1\r\nset-cookie: b=2\r\n/i)
  assert.match(answer, /x-forwarded-for: 127\.0\.0\.1\r/i)
  assert.doesNotMatch(answer, /x-svc-relayed/i)
  const agreed = await ask(
    "GET / HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello",
  )
  assert.match(agreed, /^HTTP\/1\.1 101 .*HELLO$/s)
})

test("a caller who hangs up on one process ends what the other runs for him", async t => {
  const { owner, far } = await pairOf(t)
  const id = await runningSandbox(owner)
  for await (const _ of eventsOf(await far.sandboxes.streamCommand({ id, command: "yes" }))) break
  await eventually(
    "the command is gone",
    () => owner.sandboxes.runCommand({ id, command: "cat /proc/[0-9]*/comm | grep -c ^yes" }),
    ({ stdout }) => stdout === "0\n",
  )
})

test("who has no room has the sandbox made where most is, and a repeated request makes none twice", async t => {
  const narrow = { SVC_WORKLOAD_MEMORY_MB: "300" }
  const [full, wide, middle] = (await hostsOf(
    t,
    narrow,
    { SVC_WORKLOAD_MEMORY_MB: "1024" },
    { SVC_WORKLOAD_MEMORY_MB: "600" },
  )) as [TestPlatform, TestPlatform, TestPlatform]
  const { secret } = await full.key("acme", SANDBOX_SCOPES)
  const svc = full.as(secret)
  const own = await svc.sandboxes.get({ id: await runningSandbox(svc) })
  const key = { headers: { "idempotency-key": randomUUID() } }
  const placed = await svc.sandboxes.create(SMALL, key)
  assert.notEqual(placed.host_id, own.host_id)
  assert.equal((await svc.sandboxes.runCommand({ id: placed.id, command: "echo there" })).stdout, "there\n")
  // The same key gives the same sandbox, wherever it is asked for.
  assert.equal((await svc.sandboxes.create(SMALL, key)).id, placed.id)
  assert.equal((await wide.as(secret).sandboxes.create(SMALL, key)).id, placed.id)
  assert.equal((await svc.sandboxes.list()).total, 2)

  const more = []
  for (let number = 0; number < 5; number++) more.push((await svc.sandboxes.create(SMALL)).host_id)
  assert.equal(new Set(more).size, 2)
  assert.equal(more.filter(id => id === placed.host_id).length, 3)
  await assert.rejects(svc.sandboxes.create(SMALL), refusedAs("no_host_capacity", 503))
  assert.equal((await middle.as(secret).sandboxes.list()).total, 7)
})

test("a process that can run nothing itself takes requests for those that can", async t => {
  const { far, owner } = await pairOf(t, {}, { SVC_MODE: "production" })
  const { services } = await far.identity.services()
  assert.equal(services.find(({ name }) => name === "sandboxes")?.status, "degraded")
  const made = await far.sandboxes.create(SMALL)
  assert.equal((await far.sandboxes.runCommand({ id: made.id, command: "echo hi" })).stdout, "hi\n")
  assert.equal((await owner.sandboxes.get({ id: made.id })).status, "RUNNING")
})

test("the host sees who called first, and believes nobody else who says so", async t => {
  // What stands before the second process tells who calls; nobody tells the first one.
  const { here, there, owner } = await pairOf(t, {}, { SVC_TRUSTED_PROXIES: "127.0.0.0/8,::1/128" })
  const id = await runningSandbox(owner)
  const { secret } = await here.key("acme", SANDBOX_SCOPES, { ip_allowlist: ["203.0.113.7/32"] })
  const run = (process: TestPlatform, headers: Readonly<Record<string, string>>) =>
    process.request(`/v1/sandboxes/${id}/commands`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ command: "echo in" }),
    })
  assert.equal((await run(there, { "x-forwarded-for": "203.0.113.7" })).status, 200)
  assert.equal((await run(there, { "x-forwarded-for": "203.0.113.8" })).status, 403)
  const atMs = here.clock.now()
  for (const told of [`${atMs} 203.0.113.7 ${"0".repeat(64)}`, `${atMs} 203.0.113.7`, "203.0.113.7"])
    assert.equal((await run(here, { "x-svc-relayed": told })).status, 403)
})

test("a request counts once, though two processes had a part in it", async t => {
  const { here, there, owner } = await pairOf(t)
  const id = await runningSandbox(owner)
  const { secret, id: keyId } = await here.key("acme", SANDBOX_SCOPES)
  await there.as(secret).sandboxes.runCommand({ id, command: "true" })
  const counted = async () => {
    for (const { clock } of [here, there]) await clock.advance(1_000)
    const { rows } = await here.database.pool.query(
      "SELECT metric, quantity::int FROM core.usage WHERE key_id = $1 AND metric LIKE 'request%'",
      [keyId],
    )
    return rows
  }
  const usage = await eventually("it is counted", counted, rows => rows.length > 0)
  assert.deepEqual(usage, [{ metric: "requests", quantity: 1 }])
})

test("while a host is away its sandboxes are refused with that reason", async t => {
  const { here, owner, far } = await pairOf(t)
  const id = await runningSandbox(owner, { kind: "persistent", memory_mb: 512, vcpus: 1 })
  await owner.sandboxes.stop({ id })
  await here[Symbol.asyncDispose]()
  const { status } = await far.sandboxes.get({ id })
  assert.equal(status, "STOPPED")
  await assert.rejects(far.sandboxes.start({ id }), refusedAs("host_unavailable", 503))
})
