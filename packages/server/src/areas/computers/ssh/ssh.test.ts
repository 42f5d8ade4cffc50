/** What the ssh port promises to clients, and what it keeps from them. */

import assert from "node:assert/strict"
import { type EventEmitter, once } from "node:events"
import { connect } from "node:net"
import { after, before, test } from "node:test"
import type { Svc } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../../testing/platform.ts"
import { run, runningComputer, SCOPES } from "../testing/computers.ts"
import {
  answerOf,
  exec,
  keyPair,
  listenTo,
  openExec,
  openForward,
  openShell,
  sshClient,
} from "../testing/ssh.ts"

const mine = keyPair()
const foreign = keyPair()

const ends: (() => unknown)[] = []
const forAll = { after: (end: () => unknown) => void ends.unshift(end) }

let p: TestPlatform
let svc: Svc
let id: string
let port: number

before(async () => {
  p = await platform(forAll)
  svc = await p.client("acme", ...SCOPES)
  id = await runningComputer(svc, "web1", { ssh_keys: [mine.publicKey], env: { COLOR: "red" } })
  port = (await svc.computers.get({ id })).ssh_port ?? 0
})
after(async () => {
  for (const end of ends) await end()
})

/** Also of one that breaks off. */
const closing = (client: EventEmitter) => new Promise(resolve => client.once("close", resolve))

type Context = { after(end: () => unknown): void }
const login = (t: Context, username = "web1", { privateKey } = mine) =>
  sshClient(t, { port, username, privateKey })

test("a command gets its input and gives its outputs and exit, as the computer's user or as root", async t => {
  const client = await login(t)
  const answer = await exec(client, "id -un; pwd; echo $COLOR; cat; echo bad >&2; exit 3", "input")
  assert.deepEqual(answer, {
    ...{ stdout: "user\n/home/user\nred\ninput", stderr: "bad\n" },
    ...{ code: 3, signal: undefined },
  })
  const killed = await exec(client, "kill -TERM $$")
  assert.deepEqual([killed.code, killed.signal], [null, "SIGTERM"])
  const root = await login(t, `root+${id}`)
  assert.equal((await exec(root, "id -un; pwd")).stdout, "root\n/root\n")
  const sent = "x".repeat(5_000_000)
  const [echoed, other] = await Promise.all([
    exec(client, "cat", sent),
    exec(client, "seq 200000 >&2; seq 200000"),
  ])
  assert.equal(echoed.stdout === sent, true)
  assert.equal(other.stdout, other.stderr)
  assert.match(other.stdout, /\n200000\n$/)
})

test("nobody is let in but with a key of the record, and nobody learns what there is", async t => {
  const otherTenant = await p.client("globex", ...SCOPES)
  await runningComputer(otherTenant, "theirs", { ssh_keys: [foreign.publicKey] })
  const refused = async (config: object): Promise<string> => {
    const failed = await sshClient(t, { port, ...config }).catch((error: Error) => error)
    assert.ok(failed instanceof Error, JSON.stringify(config))
    return failed.message
  }
  const messages = await Promise.all([
    refused({ username: "web1", privateKey: foreign.privateKey }),
    refused({ username: id, privateKey: foreign.privateKey }),
    refused({ username: "theirs", privateKey: mine.privateKey }),
    refused({ username: "no-such", privateKey: mine.privateKey }),
    refused({ username: "No Such!", privateKey: mine.privateKey }),
    refused({ username: `web1.${p.effects.length}`, privateKey: mine.privateKey }),
    refused({ username: "web1", password: "secret" }),
    refused({ username: "web1" }),
  ])
  assert.deepEqual(new Set(messages), new Set(["All configured authentication methods failed"]))
})

test("a name may be another computer's too: the key tells which is meant, or the project after the name", async t => {
  const wide = p.as((await p.key("acme", SCOPES, { project_id: null })).secret)
  const { organizationId, projectId } = await p.tenant("acme")
  const key = keyPair()
  const twin = await runningComputer(wide, "web1", { ssh_keys: [key.publicKey] })
  const hosts = async (username: string, pair = mine) =>
    (await exec(await login(t, username, pair), "cat ~/which")).stdout
  await run(svc, id, "echo project > ~/which")
  await run(wide, twin, "echo organization > ~/which")
  assert.deepEqual([await hosts("web1"), await hosts("web1", key)], ["project\n", "organization\n"])

  await wide.computers.setSshKeys({ id: twin, ssh_keys: [mine.publicKey] })
  const asked = await exec(await login(t), "true")
  assert.equal(asked.code, 255)
  assert.match(asked.stderr, /several computers of this name/)
  assert.equal(await hosts(`web1.${projectId}`), "project\n")
  assert.equal(await hosts(`web1.${organizationId}`), "organization\n")
  assert.equal(await hosts(twin), "organization\n")
  await wide.computers.delete({ id: twin })
})

test("a shell has a terminal of the client's size and kind, and what is typed there is a signal", async t => {
  const client = await login(t)
  const shell = await openShell(client, { cols: 100, rows: 30, term: "vt220" })
  const heard = listenTo(shell)
  shell.write("stty size; echo $TERM-$COLOR-\n")
  assert.match(await heard(/vt220-red-\r\n/), /30 100\r\n/)
  shell.setWindow(50, 132, 0, 0)
  shell.write("stty size\n")
  await heard(/50 132\r\n/)
  shell.write("sh -c 'echo begun; exec sleep 1000'\n")
  await heard(/begun\r\n/)
  shell.write("\u0003")
  await heard(/\^C/)
  shell.write("echo after $?\n")
  await heard(/after 130\r\n/)
  shell.write("exit 7\n")
  const [code] = await once(shell, "close")
  assert.equal(code, 7)
})

test("of the client's variables only those of language and time are taken", async t => {
  const env = { LANG: "de_AT.UTF-8", LC_TIME: "C", LD_PRELOAD: "/tmp/x.so", PATH: "/tmp", BASH_ENV: "/tmp/x" }
  const { stdout } = await exec(await login(t), "echo $LANG $LC_TIME; env", "", { env })
  assert.match(stdout, /^de_AT.UTF-8 C\n/)
  assert.doesNotMatch(stdout, /LD_PRELOAD|BASH_ENV|^PATH=\/tmp$/m)
})

test("signals reach the command, and who hangs up takes the command with him", async t => {
  const client = await login(t)
  const sleeping = await openExec(client, "echo ready; exec sleep 1000")
  const answer = answerOf(sleeping)
  await once(sleeping, "data")
  sleeping.signal("INT")
  assert.equal((await answer).signal, "SIGINT")
  const left = await openExec(client, "echo ready; exec sleep 2001")
  await once(left, "data")
  // Those that read nothing, so that their input is full.
  const full = await openExec(client, "echo ready; exec sleep 2002")
  await once(full, "data")
  full.write(Buffer.alloc(3_000_000))
  const closed = await openExec(client, "echo ready; exec sleep 2003")
  await once(closed, "data")
  closed.write(Buffer.alloc(3_000_000))
  closed.close()
  const runs = async (sign: string) => (await run(svc, id, "ps -eo args")).includes(sign)
  await eventually("the command of a closed channel ends", async () => !(await runs("sleep 2003")))
  assert.deepEqual([await runs("sleep 2001"), await runs("sleep 2002")], [true, true])
  client.destroy()
  await eventually("the commands end", async () => !(await runs("sleep 2001")) && !(await runs("sleep 2002")))
})

test("ports of the computer's loopback are reached, and nothing else is", async t => {
  const client = await login(t)
  const listening = await openExec(
    client,
    `perl -MIO::Socket::INET -e '$|=1; $s=IO::Socket::INET->new(LocalAddr=>"127.0.0.1:7000",Listen=>5) or die; print "up\\n"; while($c=$s->accept){while(<$c>){print $c uc} close $c}'`,
  )
  await once(listening, "data")
  for (const host of ["127.0.0.1", "localhost"]) {
    const channel = await openForward(client, host, 7000)
    const answer = answerOf(channel)
    channel.end("hello\n")
    assert.equal((await answer).stdout, "HELLO\n")
  }
  for (const [host, to] of [
    ["127.0.0.1", 7001],
    ["127.0.0.1", 0],
    ["169.254.169.254", 80],
    ["10.64.0.1", 22],
    ["example.com", 80],
    ["0.0.0.0", p.config.port],
  ] as const) {
    await assert.rejects(openForward(client, host, to), /open failure/, host)
  }
  await assert.rejects(
    new Promise((resolve, reject) =>
      client.forwardIn("127.0.0.1", 0, error => (error ? reject(error) : resolve(0))),
    ),
  )
})

test("a key that is taken away ends its connections at once, and the others stay", async t => {
  const second = keyPair()
  const [work] = [await runningComputer(svc, "shared", { ssh_keys: [mine.publicKey, second.publicKey] })]
  const [stays, goes] = [await login(t, "shared"), await login(t, "shared", second)]
  const shell = await openShell(goes)
  await listenTo(shell)(/\$/)
  const closed = closing(goes)
  await svc.computers.setSshKeys({ id: work, ssh_keys: [mine.publicKey] })
  await closed
  assert.equal((await exec(stays, "echo here")).stdout, "here\n")
  await assert.rejects(login(t, "shared", second), /authentication methods failed/)
  await svc.computers.setSshKeys({ id: work, ssh_keys: [] })
  await svc.computers.delete({ id: work })
})

test("a computer that stops ends its connections, and says so while it does not run", async t => {
  const work = await runningComputer(svc, "stopping", { ssh_keys: [mine.publicKey] })
  const client = await login(t, "stopping")
  const sleeping = await openExec(client, "echo ready; sleep 1000")
  const answer = answerOf(sleeping)
  await once(sleeping, "data")
  const closed = closing(client)
  await svc.computers.stop({ id: work })
  await answer
  await closed
  const stopped = await exec(await login(t, "stopping"), "true")
  assert.equal(stopped.code, 255)
  assert.match(stopped.stderr, /does not run; to start it: svc computers start/)
  await svc.computers.start({ id: work })
  const again = await login(t, "stopping")
  assert.equal((await exec(again, "echo back")).stdout, "back\n")
  const gone = closing(again)
  await svc.computers.delete({ id: work })
  await gone
})

test("a computer that somebody is logged in to is in use, and stops by itself when he is gone", async t => {
  const work = await runningComputer(svc, "lazy", { ssh_keys: [mine.publicKey], auto_stop_seconds: 60 })
  const client = await login(t, "lazy")
  const shell = await openShell(client)
  await listenTo(shell)(/\$/)
  await p.clock.advance(120_000)
  assert.equal((await svc.computers.get({ id: work })).status, "RUNNING")
  client.destroy()
  await eventually("it stops", async () => {
    await p.clock.advance(61_000)
    return (await svc.computers.get({ id: work })).status === "STOPPED"
  })
})

test("a login is in the audit trail with its key, its address and the computer", async t => {
  await exec(await login(t, "root+web1"), "true")
  const { organizationId } = await p.tenant("acme")
  const { rows } = await p.database.pool.query(
    `SELECT actor->>'type' AS type, actor->>'id' AS key, actor->>'name' AS name, targets->0->>'name' AS computer,
       context->>'ip' AS ip, metadata->>'user' AS "user"
     FROM core.audit_events WHERE tenant_id = $1 AND action = 'computers.ssh' ORDER BY sequence DESC LIMIT 1`,
    [organizationId],
  )
  const { key, ...entry } = rows[0]
  assert.match(key, /^SHA256:[A-Za-z0-9+/]{43}$/)
  assert.deepEqual(entry, {
    ...{ type: "ssh_key", name: "ada@laptop", computer: "web1", ip: "127.0.0.1", user: "root" },
  })
})

test("a client that does not log in is not waited for, and of one address only some may try at a time", async t => {
  const open = Array.from({ length: 30 }, () => connect({ port, host: "127.0.0.1" }))
  t.after(() => {
    for (const socket of open) socket.destroy()
  })
  for (const socket of open) socket.on("error", () => undefined)
  const greeted = await Promise.all(
    open.map(socket =>
      Promise.race([once(socket, "data").then(() => true), once(socket, "close").then(() => false)]),
    ),
  )
  assert.equal(greeted.filter(Boolean).length, 20)
  for (const socket of open) socket.destroy()
  await eventually("there is room again", () => login(t).catch(() => undefined))
})

test("a client that sends more than it may, or nothing but noise, is cut off and hurts nobody", async t => {
  const client = await login(t)
  const blocked = await openExec(client, "exec sleep 1000")
  const closed = closing(client)
  Object.assign(blocked.outgoing as object, { window: 2 ** 31 })
  // In parts that do not add up to the window, which would stop it.
  for (let n = 0; n < 300; n++) blocked.write(Buffer.alloc(30_000))
  await closed
  const noise = connect({ port, host: "127.0.0.1" })
  noise.on("error", () => undefined).resume()
  const gone = closing(noise)
  noise.write(`SSH-2.0-noise\r\n${"\u0000\u00ff".repeat(300_000)}`)
  await gone
  const tiny = await login(t)
  const { _protocol: protocol } = tiny as unknown as { _protocol: { session(...args: number[]): void } }
  const session = protocol.session.bind(protocol)
  protocol.session = (channel, window) => session(channel ?? 0, window ?? 0, 0)
  const cut = closing(tiny)
  openExec(tiny, "seq 100000").catch(() => undefined)
  await cut
  assert.equal((await exec(await login(t), "echo fine")).stdout, "fine\n")
})
