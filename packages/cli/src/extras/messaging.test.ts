import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import { everyScope, platform } from "../../../server/src/testing/platform.ts"
import { bin, openShell } from "../testing/command.ts"

const TAIL_MS_MAX = 60_000
const PUBLISH_EVERY_MS = 300

const messagingWorld = async (t: TestContext) => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const shell = await openShell(t, p.url, secret)
  return { ...shell, p, secret, svc: p.as(secret) }
}

test("events are published to a topic by its name or id, one with its type and data, or several", async t => {
  const { run, svc } = await messagingWorld(t)
  const { id } = await svc.events.createTopic({ name: "orders" })
  const one = await run(["events", "publish", "orders", "order.paid", "--data", '{"total": 3}', "--json"])
  assert.equal(one.code, 0, one.err)
  const { topic_id, event_type } = JSON.parse(one.out)
  assert.deepEqual([topic_id, event_type], [id, "order.paid"])

  const piped = await run(["events", "publish", id, "order.paid", "--data", "-", "--id", "e-1"], {
    input: '{"n": 1}',
  })
  assert.equal(piped.code, 0, piped.err)
  const again = await run(["events", "publish", id, "order.paid", "--id", "e-1", "--json"])
  assert.equal(JSON.parse(again.out).duplicate, true)

  const events = JSON.stringify({ events: [{ event_type: "a" }, { event_type: "b" }] })
  const several = await run(["events", "publish", "orders", "--data", events, "--json"])
  assert.equal(JSON.parse(several.out).events.length, 2)
  assert.equal((await svc.events.getTopic({ topic_id: id })).event_count, 4)
  const spelledOut = ["events", "publish", "--topic-id", id, "--event-type", "order.paid"]
  assert.equal((await run(spelledOut)).code, 0)
})

test("what cannot be published is told before anything is sent", async t => {
  const { run, svc } = await messagingWorld(t)
  const { id } = await svc.events.createTopic({ name: "orders" })
  const wrong = [
    [["events", "publish"], /name a topic/],
    [["events", "publish", "orders"], /name the type/],
    [["events", "publish", "orders", "order.paid", "more"], /unexpected word: more/],
    [["events", "publish", "orders", "order.paid", "--data", "{"], /--data must be JSON/],
    [["events", "publish", "orders", "--data", "[]"], /must be a JSON object/],
    [["events", "publish", "nothing", "order.paid"], /there is no topic nothing/],
    [["events", "tail", "nothing"], /there is no topic nothing/],
    [["mail", "inbox", "a", "b"], /unexpected word: b/],
    [["mail", "inbox", "--limit", "x"], /not a number: x/],
  ] as const
  for (const [line, message] of wrong) {
    const { code, err } = await run(line)
    assert.equal(code, 2, line.join(" "))
    assert.match(err, message)
  }
  assert.equal((await svc.events.getTopic({ topic_id: id })).event_count, 0)
  assert.match((await run(["events", "publish", "--help"])).out, /svc events publish <topic> <type>/)
  const help = (await run(["events", "--help"])).out
  assert.equal(help.match(/^ +(events )?publish /gm)?.length, 1)
})

test("events are watched as they are published, in characters that no terminal acts upon", {
  timeout: 90_000,
}, async t => {
  const { svc, env, secret } = await messagingWorld(t)
  const { id: topic_id } = await svc.events.createTopic({ name: "orders" })
  const child = spawn(process.execPath, [bin, "events", "tail", "orders", "--event-type", "order.*"], {
    env: { ...env, SVC_TOKEN: secret },
    stdio: ["ignore", "pipe", "pipe"],
  })
  t.after(() => child.kill("SIGKILL"))
  let out = ""
  let err = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk
  })
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    err += chunk
  })
  // What was published before it looked is not shown, so it is published until it is.
  const deadlineMs = Date.now() + TAIL_MS_MAX
  while (!out.includes("\n")) {
    assert.ok(Date.now() < deadlineMs && child.exitCode === null, `nothing was shown: ${err}`)
    await svc.events.publish({ topic_id, event_type: "stock.low", data: {} })
    await svc.events.publish({ topic_id, event_type: "order.paid", data: { note: "\u009b2J" } })
    await delay(PUBLISH_EVERY_MS)
  }
  assert.match(out, /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}order\.paid {2}\{"note":"\\x9b2J"\}$/m)
  assert.ok(!out.includes("stock.low"))
  child.kill()
  await once(child, "exit")
})

test("mails that stayed here are listed, and read as text, HTML or whole", async t => {
  const { run, svc } = await messagingWorld(t)
  const sent = {
    subject: "Welcome \u009b2J",
    text: "Hello Ada,\nthere \u001b[31myou are.",
    html: "<p>Hello</p>",
    attachments: [
      { filename: "a.txt", content: Buffer.from("abc").toString("base64"), content_type: "text/plain" },
    ],
  }
  await svc.email.sendRaw({ to: "ada@example.com", ...sent })
  await svc.email.sendRaw({ to: "bob@example.com", ...sent })
  const deadlineMs = Date.now() + TAIL_MS_MAX
  while ((await svc.email.listInbox()).total < 2) {
    assert.ok(Date.now() < deadlineMs, "the mails did not arrive")
    await delay(PUBLISH_EVERY_MS)
  }
  const all = await run(["mail", "inbox"])
  assert.equal(all.code, 0, all.err)
  assert.match(all.out, /ada@example\.com .*Welcome \\x9b2J/)
  assert.match(all.out, /bob@example\.com/)
  const listed = await run(["mail", "inbox", "--to", "ada@example.com", "--json"])
  const [found, ...others] = JSON.parse(listed.out)
  assert.deepEqual(others, [])
  assert.match((await run(["mail", "inbox", "--limit", "1"])).err, /1 of 2/)

  const read = await run(["mail", "inbox", found.id])
  assert.match(read.out, /^to +ada@example\.com$/m)
  assert.match(read.out, /^attachments +a\.txt \(3 bytes\)$/m)
  assert.match(read.out, /\n\nHello Ada,\nthere \\x1b\[31myou are\.\n/)
  assert.match((await run(["mail", "inbox", found.id, "--html"])).out, /<p>Hello<\/p>/)
  assert.match((await run(["mail", "inbox", found.id, "--raw"])).out, /^Subject: /m)
  assert.equal((await run(["mail", "inbox", "00000000-0000-7000-8000-000000000000"])).code, 1)
})
