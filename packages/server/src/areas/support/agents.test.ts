import assert from "node:assert/strict"
import { test } from "node:test"
import { newId } from "../../kernel/id.ts"
import { everyScope } from "../../testing/platform.ts"
import { startReceiver } from "../../testing/receiver.ts"
import { supportWorld } from "./testing/world.ts"

const HELP = { subject: "Help", description: "It does not work." }

test("agents see the tickets of all organizations, and whose they are", async t => {
  const { p, agent, customer, stranger, desk } = await supportWorld(t)
  const { svc, id: agentId } = await agent()
  const one = await customer.support.createTicket(HELP)
  const two = await stranger.support.createTicket({ ...HELP, priority: "urgent" })
  for (const client of [svc, desk]) {
    const { data, total } = await client.support.agentListTickets({ sort: "created_at" })
    assert.deepEqual(
      data.map(({ id, organization }) => [id, organization.name]),
      [
        [one.id, "acme"],
        [two.id, "globex"],
      ],
    )
    assert.equal(total, 2)
  }
  const { organizationId } = await p.tenant("globex")
  const found = async (filter: object) =>
    (await desk.support.agentListTickets(filter)).data.map(({ number }) => number)
  assert.deepEqual(await found({ organization_id: organizationId }), [two.number])
  await svc.support.agentUpdateTicket({ id: one.id, assignee_id: agentId })
  assert.deepEqual(await found({ assignee_id: agentId }), [one.number])
  assert.deepEqual(await found({ unassigned: true }), [two.number])
  assert.equal((await svc.support.agentGetTicket({ id: two.id })).priority, "urgent")
})

test("nobody but the operator's owners, administrators and admin keys is an agent", async t => {
  const { p, agent, customer, stranger, NOBODY } = await supportWorld(t)
  const { id } = await customer.support.createTicket(HELP)
  const { id: chat } = await customer.support.createChat()
  const owner = await p.person("globex", "owner")
  const refused = { status: 403, code: "role_insufficient" }
  for (const svc of [stranger, owner]) {
    await assert.rejects(svc.support.agentListTickets(), refused)
    await assert.rejects(svc.support.agentListChats(), refused)
    for (const named of [id, NOBODY]) {
      await assert.rejects(svc.support.agentGetTicket({ id: named }), refused)
      await assert.rejects(svc.support.agentUpdateTicket({ id: named, priority: "low" }), refused)
      await assert.rejects(svc.support.agentListComments({ id: named }), refused)
      await assert.rejects(svc.support.agentAddComment({ id: named, body: "Hi" }), refused)
    }
    for (const named of [chat, NOBODY]) {
      await assert.rejects(svc.support.agentUpdateChat({ id: named, status: "snoozed" }), refused)
      await assert.rejects(svc.support.agentReadChat({ id: named }), refused)
      await assert.rejects(svc.support.agentListMessages({ id: named }), refused)
      await assert.rejects(svc.support.agentPostMessage({ id: named, content: "Hi" }), refused)
      await assert.rejects(svc.support.agentStreamChat({ id: named }), refused)
    }
  }
  const { svc: member } = await agent("member")
  const unscoped = { status: 403, code: "missing_scope" }
  await assert.rejects(member.support.agentListTickets(), unscoped)
  assert.ok(p.firstRun)
  await assert.rejects(p.as(p.firstRun.api_key).support.agentListTickets(), unscoped)
})

test("agents are told of what is not there", async t => {
  const { desk, NOBODY: id } = await supportWorld(t)
  const { support } = desk
  for (const act of [
    () => support.agentGetTicket({ id }),
    () => support.agentUpdateTicket({ id, priority: "low" }),
    () => support.agentListComments({ id }),
    () => support.agentAddComment({ id, body: "Hi" }),
  ])
    await assert.rejects(act(), { status: 404, code: "ticket_not_found" })
  for (const act of [
    () => support.agentUpdateChat({ id, status: "snoozed" }),
    () => support.agentReadChat({ id }),
    () => support.agentListMessages({ id }),
    () => support.agentPostMessage({ id, content: "Hi" }),
    () => support.agentStreamChat({ id }),
  ])
    await assert.rejects(act(), { status: 404, code: "chat_session_not_found" })
})

test("when the operator's organization is deleted nobody inherits its tickets", async t => {
  const { p, stranger } = await supportWorld(t)
  const { db } = p.database
  await db
    .updateTable("core.organizations")
    .set({ deleted_at: new Date() })
    .where("name", "=", "My organization")
    .execute()
  await assert.rejects(stranger.support.agentListTickets(), { status: 403, code: "role_insufficient" })
})

test("another organization answers where the settings name it", async t => {
  const organizationId = newId()
  const { p, desk } = await supportWorld(t, { env: { SVC_SUPPORT_ORGANIZATION: organizationId } })
  await assert.rejects(desk.support.agentListTickets(), { status: 403, code: "role_insufficient" })
  await p.database.db
    .insertInto("core.organizations")
    .values({
      ...{ id: organizationId, name: "Helpers", slug: "helpers", plan: "free" },
      ...{ requests_per_second: null, created_at: new Date(), deleted_at: null },
    })
    .execute()
  const atHelpers = { organization_id: organizationId, project_id: null }
  const helper = p.as((await p.key("acme", ["admin:full"], atHelpers)).secret)
  assert.equal((await helper.support.agentListTickets()).total, 0)
})

test("an answer sets the first response and leaves the ticket with the customer, whose comment brings it back", async t => {
  const { p, agent, customer } = await supportWorld(t)
  const { svc, id: agentId } = await agent()
  const { id } = await customer.support.createTicket(HELP)
  await p.clock.advance(60_000)
  const answeredAt = new Date(p.clock.now()).toISOString()
  const { author } = await svc.support.agentAddComment({ id, body: "Looking." })
  assert.deepEqual([author.type, author.id], ["agent", agentId])
  await p.clock.advance(60_000)
  await svc.support.agentAddComment({ id, body: "Found." })
  const answered = await customer.support.getTicket({ id })
  assert.deepEqual(
    [answered.status, answered.first_response_at, answered.comment_count],
    ["pending", answeredAt, 2],
  )
  await customer.support.addComment({ id, body: "And now?" })
  assert.equal((await customer.support.getTicket({ id })).status, "open")

  for (const [status, after] of [
    ["resolved", "open"],
    ["on_hold", "on_hold"],
  ] as const) {
    await svc.support.agentUpdateTicket({ id, status })
    await customer.support.addComment({ id, body: "Hm." })
    const ticket = await customer.support.getTicket({ id })
    assert.deepEqual([ticket.status, ticket.resolved_at], [after, null])
  }
  await svc.support.agentUpdateTicket({ id, status: "closed" })
  const late = { status: 400, code: "ticket_closed" }
  await assert.rejects(svc.support.agentAddComment({ id, body: "One more" }), late)
  await assert.rejects(svc.support.agentUpdateTicket({ id, status: "open" }), late)
})

test("internal notes leave no trace that a customer could see", async t => {
  const { p, customer, desk } = await supportWorld(t)
  const made = await customer.support.createTicket(HELP)
  const { id } = made
  await p.clock.advance(60_000)
  const note = await desk.support.agentAddComment({ id, body: "An unpaid account: zebra.", internal: true })
  assert.equal(note.internal, true)
  assert.deepEqual(await customer.support.getTicket({ id }), made)
  assert.deepEqual((await customer.support.listTickets()).data, [made])
  assert.deepEqual(await customer.support.listComments({ id }), { data: [], total: 0, limit: 50, offset: 0 })
  assert.equal((await customer.support.listTickets({ q: "zebra" })).total, 0)
  await customer.support.addComment({ id, body: "Hello?" })
  await desk.support.agentAddComment({ id, body: "Hello." })
  assert.equal((await customer.support.listComments({ id })).total, 2)

  const all = await desk.support.agentListComments({ id })
  assert.deepEqual(
    all.data.map(({ internal }) => internal),
    [true, false, false],
  )
  const ticket = await desk.support.agentGetTicket({ id })
  assert.deepEqual([ticket.note_count, ticket.comment_count, all.total], [1, 2, 3])
  const audited = await p.database.pool.query(
    "SELECT count(*)::int AS count FROM core.audit_events e WHERE e::text LIKE '%zebra%'",
  )
  assert.equal(audited.rows[0].count, 0)
})

test("only agents are given tickets and chats", async t => {
  const { p, agent, customer, desk, NOBODY } = await supportWorld(t)
  const { id } = await customer.support.createTicket(HELP)
  const { id: chat } = await customer.support.createChat()
  const customerId = (await (await p.person("acme")).account.get()).id
  const { id: memberId } = await agent("member")
  for (const assignee_id of [NOBODY, customerId, memberId]) {
    const none = { status: 404, code: "member_not_found" }
    await assert.rejects(desk.support.agentUpdateTicket({ id, assignee_id }), none)
    await assert.rejects(desk.support.agentUpdateChat({ id: chat, assignee_id }), none)
  }
  const { id: assignee_id, email } = await agent("owner")
  assert.equal((await desk.support.agentUpdateTicket({ id, assignee_id })).assignee?.email, email)
  assert.equal((await desk.support.agentUpdateTicket({ id, assignee_id: null })).assignee, null)
  const taken = await desk.support.agentUpdateChat({ id: chat, assignee_id, status: "snoozed" })
  assert.deepEqual([taken.assignee?.email, taken.status], [email, "snoozed"])
  assert.equal((await desk.support.agentListChats({ assignee_id })).total, 1)
})

test("agents read what customers say in chats, and each side counts its own unread", async t => {
  const { customer, desk } = await supportWorld(t)
  const { id } = await customer.support.createChat({ message: "One" })
  await customer.support.postMessage({ id, content: "Two" })
  assert.equal((await desk.support.agentListChats()).data[0]?.unread_count, 2)
  assert.equal((await desk.support.agentReadChat({ id })).unread_count, 0)
  assert.ok((await desk.support.agentListMessages({ id })).data.every(({ read_at }) => read_at !== null))
  assert.equal((await customer.support.getChat({ id })).unread_count, 0)
})

test("the customer's webhooks are told of tickets and comments, and never of notes", async t => {
  const world = await supportWorld(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" } })
  const { p, customer, desk } = world
  const receiver = await startReceiver(t)
  const { organizationId: tenant_id } = await p.tenant("acme")
  const svc = p.as((await p.key("acme", everyScope)).secret)
  await svc.webhooks.register({ tenant_id, url: receiver.url, event_types: ["support.*"] })
  const { id } = await customer.support.createTicket(HELP)
  await desk.support.agentAddComment({ id, body: "Between us", internal: true })
  await desk.support.agentAddComment({ id, body: "Done" })
  await customer.support.closeTicket({ id })
  const requests = await receiver.received(4)
  const bodies = requests.map(({ body }) => body.toString())
  assert.deepEqual(bodies.map(body => (JSON.parse(body) as { type: string }).type).sort(), [
    "support.ticket.closed",
    "support.ticket.comment.created",
    "support.ticket.created",
    "support.ticket.updated",
  ])
  assert.ok(bodies.every(body => body.includes(id) && !body.includes("Between us")))
})
