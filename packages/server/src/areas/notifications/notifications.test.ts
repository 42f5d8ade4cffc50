import assert from "node:assert/strict"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { newId } from "../../kernel/id.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { BOTH } from "./testing/settled.ts"

const member = async (p: TestPlatform, tenant: string, role: "owner" | "admin" | "member" = "member") => {
  const person = await p.person(tenant, role)
  return { svc: person, id: (await person.account.get()).id }
}

const refusal = async (attempt: Promise<unknown>) => {
  const error = await attempt.then(
    () => assert.fail("it was not refused"),
    (reason: { status: number; code: string }) => reason,
  )
  return [error.status, error.code]
}

test("what a key sends to itself is listed, counted, read and counted no more", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  const sent = await svc.notifications.send({
    title: "Hello",
    body: "there",
    data: { a: 1 },
    category: "news",
  })
  assert.deepEqual(
    { ...sent, id: "" },
    {
      id: "",
      status: "accepted",
      duplicate: false,
      recipient_count: 1,
      channels: { in_app: "stored", push: "no_devices" },
    },
  )
  const { data, total } = await svc.notifications.list()
  assert.equal(total, 1)
  assert.equal(data[0]?.id, sent.id)
  assert.deepEqual(data[0]?.data, { a: 1 })
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 1 })
  const read = await svc.notifications.read({ id: sent.id })
  assert.equal(read.read, true)
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 0 })
  assert.equal((await svc.notifications.get({ id: sent.id })).read_at, read.read_at)
  assert.equal((await svc.notifications.unread({ id: sent.id })).read, false)
  assert.deepEqual(await svc.notifications.readAll(), { updated: 1 })
  assert.deepEqual(await svc.notifications.readAll(), { updated: 0 })
})

test("lists are newest first, and filter by mark, category, type and time", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  const ids: string[] = []
  for (const [title, category, type] of [
    ["one", "news", "a.b"],
    ["two", "builds", "build.failed"],
    ["three", "builds", "build.succeeded"],
  ] as const) {
    ids.push((await svc.notifications.send({ title, category, type })).id)
    await p.clock.advance(1_000)
  }
  const titles = async (query: object) => (await svc.notifications.list(query)).data.map(({ title }) => title)
  assert.deepEqual(await titles({}), ["three", "two", "one"])
  assert.deepEqual(await titles({ limit: 1, offset: 1 }), ["two"])
  assert.deepEqual(await titles({ category: "builds" }), ["three", "two"])
  assert.deepEqual(await titles({ type: "a.b" }), ["one"])
  await svc.notifications.read({ id: ids[1] ?? "" })
  assert.deepEqual(await titles({ read: true }), ["two"])
  assert.deepEqual(await titles({ read: false }), ["three", "one"])
  await svc.notifications.archive({ id: ids[2] ?? "" })
  assert.deepEqual(await titles({}), ["two", "one"])
  assert.deepEqual(await titles({ archived: true }), ["three"])
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 1 })
  const middle = new Date(p.clock.now() - 1_500).toISOString()
  assert.deepEqual(await titles({ until: middle }), ["two", "one"])
  assert.deepEqual(await svc.notifications.readAll({ category: "builds" }), { updated: 0 })
  assert.deepEqual(await svc.notifications.readAll({ before: middle }), { updated: 1 })
})

test("one notification goes to several people, and each has marks of their own", async t => {
  const p = await platform(t)
  const sender = await p.client("acme", ...BOTH)
  const [ada, bob] = [await member(p, "acme"), await member(p, "acme")]
  const { id, recipient_count } = await sender.notifications.send({ to: [ada.id, bob.id], title: "Lunch" })
  assert.equal(recipient_count, 2)
  await ada.svc.notifications.read({ id })
  assert.equal((await bob.svc.notifications.get({ id })).read, false)
  assert.deepEqual(await bob.svc.notifications.unreadCount(), { unread_count: 1 })
  // The key reads in their place; a member may not.
  assert.deepEqual(await sender.notifications.unreadCount({ user_id: ada.id }), { unread_count: 0 })
  assert.deepEqual(await refusal(ada.svc.notifications.list({ user_id: bob.id })), [403, "role_insufficient"])
  const chief = await member(p, "acme", "admin")
  assert.equal((await chief.svc.notifications.list({ user_id: bob.id })).total, 1)
})

test("everybody of the organization is told, and nobody of another", async t => {
  const p = await platform(t)
  const sender = await p.client("acme", ...BOTH)
  const ada = await member(p, "acme")
  const eve = await member(p, "globex")
  const { recipient_count } = await sender.notifications.send({ all: true, title: "Fire drill" })
  assert.equal(recipient_count, 2)
  assert.deepEqual(await ada.svc.notifications.unreadCount(), { unread_count: 1 })
  assert.deepEqual(await eve.svc.notifications.unreadCount(), { unread_count: 0 })
})

test("a person of another organization is nobody: not addressed, not read, and no different from a made-up id", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  const eve = await member(p, "globex")
  const { id: strangersKey } = await p.key("globex", [...BOTH])
  for (const to of [eve.id, strangersKey, newId()]) {
    assert.deepEqual(await refusal(svc.notifications.send({ to: [to], title: "x" })), [
      404,
      "member_not_found",
    ])
    assert.deepEqual(await refusal(svc.notifications.list({ user_id: to })), [404, "member_not_found"])
    assert.deepEqual(await refusal(svc.notifications.getPreferences({ user_id: to })), [
      404,
      "member_not_found",
    ])
  }
  // Nobody of a mixed list is told either.
  const ada = await member(p, "acme")
  await refusal(svc.notifications.send({ to: [ada.id, eve.id], title: "x" }))
  assert.deepEqual(await ada.svc.notifications.unreadCount(), { unread_count: 0 })
})

test("no operation takes the inbox of a stranger, and members name no inbox but their own", async t => {
  const p = await platform(t)
  const { id } = await (await p.client("acme", ...BOTH)).notifications.send({ title: "x" })
  const eve = await member(p, "globex")
  const bob = await member(p, "acme")
  const attempts = (svc: Svc, user_id: string) => [
    svc.notifications.list({ user_id }),
    svc.notifications.unreadCount({ user_id }),
    svc.notifications.stream({ user_id }),
    svc.notifications.get({ id, user_id }),
    svc.notifications.read({ id, user_id }),
    svc.notifications.unread({ id, user_id }),
    svc.notifications.seen({ id, user_id }),
    svc.notifications.archive({ id, user_id }),
    svc.notifications.readAll({ user_id }),
    svc.notifications.listDevices({ user_id }),
    svc.notifications.registerDevice({ provider: "fcm", token: "t", user_id }),
    svc.notifications.unregisterDevice({ device_id: id, user_id }),
    svc.notifications.getPreferences({ user_id }),
    svc.notifications.updatePreferences({ user_id }),
  ]
  const key = await p.wide("acme", ...BOTH)
  for (const refused of await Promise.all(attempts(key, eve.id).map(refusal)))
    assert.deepEqual(refused, [404, "member_not_found"])
  const ada = await member(p, "acme")
  for (const refused of await Promise.all(attempts(ada.svc, bob.id).map(refusal)))
    assert.deepEqual(refused, [403, "role_insufficient"])
  // A service key of the whole organization may, because it acts for the app; one of a project is for that alone.
  const bound = await p.client("acme", ...BOTH)
  const settings = [
    bound.notifications.listDevices({ user_id: bob.id }),
    bound.notifications.updatePreferences({ user_id: bob.id }),
  ]
  for (const refused of await Promise.all(settings.map(refusal)))
    assert.deepEqual(refused, [403, "organization_reach_required"])
  await key.notifications.send({ title: "shared", to: bob.id })
  const { id: ours } = await bound.notifications.send({ title: "ours", to: bob.id })
  const seen = await bound.notifications.list({ user_id: bob.id })
  assert.deepEqual(
    seen.data.map(({ id }) => id),
    [ours],
  )
  assert.equal((await key.notifications.updatePreferences({ user_id: bob.id })).user_id, bob.id)
  assert.equal(
    (await key.notifications.seen({ id: (await key.notifications.send({ title: "y" })).id })).read,
    false,
  )
  assert.deepEqual(
    await refusal(ada.svc.notifications.updateProviders({ webpush: { subject: "mailto:a@b.example" } })),
    [403, "role_insufficient"],
  )
  const quiet_hours = { start: "22:00", end: "07:00", timezone: "Mars/Olympus" }
  assert.deepEqual(await refusal(ada.svc.notifications.updatePreferences({ quiet_hours })), [
    400,
    "invalid_parameter",
  ])
})

test("a key of one project does not see what was sent from another", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const ada = await member(p, "acme", "owner")
  const { id: other } = await ada.svc.projects.create({ name: "other" })
  const here = await p.client("acme", ...BOTH)
  const elsewhere = p.as((await p.key("acme", [...BOTH], { project_id: other })).secret)
  const { id } = await elsewhere.notifications.send({ to: [ada.id], title: "from elsewhere" })
  await here.notifications.send({ to: [ada.id], title: "from here" })
  const seen = await here.notifications.list({ user_id: ada.id })
  assert.deepEqual(
    seen.data.map(({ title }) => title),
    ["from here"],
  )
  assert.deepEqual(await here.notifications.unreadCount({ user_id: ada.id }), { unread_count: 1 })
  assert.deepEqual(await refusal(here.notifications.read({ id, user_id: ada.id })), [
    404,
    "notification_not_found",
  ])
  assert.equal((await ada.svc.notifications.list()).total, 2)
  assert.ok(organizationId)
})

test("a repeated dedupe_key sends nothing for a day, whoever comes first", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  const attempt = () => svc.notifications.send({ title: "Paid", dedupe_key: "invoice-7" })
  const results = await Promise.all(Array.from({ length: 5 }, attempt))
  assert.equal(new Set(results.map(({ id }) => id)).size, 1)
  assert.equal(results.filter(({ duplicate }) => !duplicate).length, 1)
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 1 })
  await p.clock.advance(24 * 3_600_000)
  assert.equal((await attempt()).duplicate, false)
  assert.equal((await attempt()).duplicate, true)
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 2 })
})

test("a collapse_key takes the place of the unread one before", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  await svc.notifications.send({ title: "1 message", collapse_key: "inbox" })
  const { id } = await svc.notifications.send({ title: "2 messages", collapse_key: "inbox" })
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 1 })
  await svc.notifications.read({ id })
  await svc.notifications.send({ title: "3 messages", collapse_key: "inbox" })
  assert.deepEqual(
    (await svc.notifications.list()).data.map(({ title }) => title),
    ["3 messages", "2 messages"],
  )
})

test("past its ttl_seconds a notification is gone", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  const { id } = await svc.notifications.send({ title: "Now or never", ttl_seconds: 60 })
  await p.clock.advance(59_000)
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 1 })
  await p.clock.advance(2_000)
  assert.deepEqual(await svc.notifications.unreadCount(), { unread_count: 0 })
  assert.equal((await svc.notifications.list()).total, 0)
  assert.deepEqual(await refusal(svc.notifications.read({ id })), [404, "notification_not_found"])
})

test("hostile addresses and oversized data are refused by name", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  for (const action_url of ["javascript:alert(1)", "//evil.example", "data:text/html,x", "/\\evil.example"])
    assert.deepEqual(await refusal(svc.notifications.send({ title: "x", action_url })), [
      400,
      "invalid_parameter",
    ])
  const data = { text: "x".repeat(9_000) }
  assert.deepEqual(await refusal(svc.notifications.send({ title: "x", data })), [400, "invalid_parameter"])
  const { ownerId } = await p.tenant("acme")
  assert.deepEqual(await refusal(svc.notifications.send({ title: "x", to: [ownerId], all: true })), [
    400,
    "invalid_parameter",
  ])
})

test("the aliases user_id and message are taken for to and body", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  const ada = await member(p, "acme")
  const input = { user_id: ada.id, title: "Hi", message: "you" } as never
  await svc.notifications.send(input)
  const [first] = (await ada.svc.notifications.list()).data
  assert.equal(first?.body, "you")
})

test("a rotated key keeps its inbox", async t => {
  const p = await platform(t)
  const chief = await member(p, "acme", "owner")
  const made = await chief.svc.keys.create({ name: "bot", type: "service_account", scopes: [...BOTH] })
  await p.as(made.secret ?? "").notifications.send({ title: "before" })
  const rotated = await chief.svc.keys.rotate({ id: made.id, grace_period_seconds: 0 })
  const after = p.as(rotated.secret ?? "")
  assert.equal((await after.notifications.list()).data[0]?.title, "before")
  await chief.svc.notifications.send({ to: [rotated.id], title: "after" })
  assert.deepEqual(await after.notifications.unreadCount(), { unread_count: 2 })
})
