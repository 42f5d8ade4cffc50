import assert from "node:assert/strict"
import { test } from "node:test"
import { everyScope } from "../../testing/platform.ts"
import { supportWorld } from "./testing/world.ts"

const HELP = { subject: "Help", description: "It does not work." }

test("a ticket is opened with a number, shown, listed, changed and closed, and closing again changes nothing", async t => {
  const { p, customer } = await supportWorld(t)
  const made = await customer.support.createTicket({ ...HELP, priority: "high", tags: ["db"] })
  assert.ok(made.number >= 1000)
  assert.deepEqual(
    [made.status, made.priority, made.category, made.tags, made.comment_count, made.assignee],
    ["open", "high", null, ["db"], 0, null],
  )
  const next = await customer.support.createTicket(HELP)
  assert.ok(next.number > made.number)
  assert.equal(next.priority, "normal")
  assert.deepEqual(await customer.support.getTicket({ id: made.id }), made)
  assert.deepEqual((await customer.support.listTickets()).data, [next, made])

  await p.clock.advance(1000)
  const changed = await customer.support.updateTicket({ id: made.id, subject: "Quick", category: "billing" })
  assert.deepEqual([changed.subject, changed.category, changed.priority], ["Quick", "billing", "high"])
  assert.ok(changed.updated_at > made.updated_at)

  const closed = await customer.support.closeTicket({ id: made.id })
  assert.equal(closed.status, "closed")
  assert.equal(closed.closed_at, new Date(p.clock.now()).toISOString())
  await p.clock.advance(1000)
  assert.deepEqual(await customer.support.closeTicket({ id: made.id }), closed)
  const late = { status: 400, code: "ticket_closed" }
  await assert.rejects(customer.support.addComment({ id: made.id, body: "But…" }), late)
  await assert.rejects(customer.support.updateTicket({ id: made.id, priority: "low" }), late)
  await assert.rejects(customer.support.updateTicket({ id: made.id, status: "open" }), late)
})

test("the requester is who is signed in, or the key, whose maker is written to", async t => {
  const { p, customer } = await supportWorld(t)
  const person = await p.person("acme")
  const { id, email } = await person.account.get()
  const own = await person.support.createTicket(HELP)
  assert.deepEqual([own.requester.id, own.requester.email], [id, email])

  const { ownerId } = await p.tenant("acme")
  const owner = await p.database.db
    .selectFrom("core.users")
    .where("id", "=", ownerId)
    .select("email")
    .executeTakeFirst()
  const { requester } = await customer.support.createTicket(HELP)
  assert.equal(requester.name, "key of acme")
  assert.equal(requester.email, owner?.email)
})

test("a ticket of another organization answers like one that never existed", async t => {
  const { customer, stranger, NOBODY } = await supportWorld(t)
  const { id } = await customer.support.createTicket(HELP)
  const none = { status: 404, code: "ticket_not_found" }
  for (const named of [id, NOBODY]) {
    await assert.rejects(stranger.support.getTicket({ id: named }), none)
    await assert.rejects(stranger.support.updateTicket({ id: named, priority: "low" }), none)
    await assert.rejects(stranger.support.closeTicket({ id: named }), none)
    await assert.rejects(stranger.support.listComments({ id: named }), none)
    await assert.rejects(stranger.support.addComment({ id: named, body: "Me too" }), none)
  }
  assert.equal((await stranger.support.listTickets()).total, 0)
  assert.equal((await customer.support.getTicket({ id })).priority, "normal")
})

test("a ticket is not tied to a chat of another organization", async t => {
  const { customer, stranger, NOBODY } = await supportWorld(t)
  const { id } = await customer.support.createChat()
  for (const session_id of [id, NOBODY]) {
    const tied = stranger.support.createTicket({ ...HELP, session_id })
    await assert.rejects(tied, { status: 404, code: "chat_session_not_found" })
  }
  const ticket = await customer.support.createTicket({ ...HELP, session_id: id })
  assert.equal((await customer.support.getChat({ id })).ticket_id, ticket.id)
})

test("comments come in the order in which they were written, and are counted", async t => {
  const { p, customer } = await supportWorld(t)
  const { id } = await customer.support.createTicket(HELP)
  for (const body of ["one", "two", "three"]) await customer.support.addComment({ id, body })
  const { data, total } = await customer.support.listComments({ id })
  assert.deepEqual(
    data.map(({ body, internal, source, author }) => [body, internal, source, author.type]),
    ["one", "two", "three"].map(body => [body, false, "api", "customer"]),
  )
  assert.equal(total, 3)
  const { data: page } = await customer.support.listComments({ id, limit: 1, offset: 1 })
  assert.deepEqual(
    page.map(({ body }) => body),
    ["two"],
  )
  const ticket = await customer.support.getTicket({ id })
  assert.equal(ticket.comment_count, 3)
  assert.equal(ticket.last_comment_at, new Date(p.clock.now()).toISOString())
  assert.equal(ticket.first_response_at, null)
})

test("tickets are found by status, priority, category, tag and words, and sorted", async t => {
  const { customer } = await supportWorld(t)
  const open = async (subject: string, more: object) =>
    (await customer.support.createTicket({ subject, description: "Please look.", ...more })).id
  const bill = await open("Invoice of May", { priority: "low", category: "billing", tags: ["money"] })
  const down = await open("Database does not wake", { priority: "urgent", tags: ["db", "down"] })
  const slow = await open("Database is slow", { priority: "high" })
  await customer.support.updateTicket({ id: slow, status: "resolved" })

  const found = async (filter: object) =>
    (await customer.support.listTickets(filter)).data.map(({ id }) => id)
  assert.deepEqual(await found({ status: "resolved" }), [slow])
  assert.deepEqual(await found({ priority: "urgent" }), [down])
  assert.deepEqual(await found({ category: "billing" }), [bill])
  assert.deepEqual(await found({ tag: "db" }), [down])
  assert.deepEqual(await found({ q: "database" }), [slow, down])
  assert.deepEqual(await found({ q: "database -slow" }), [down])
  assert.deepEqual(await found({ q: "%' OR 1=1 --" }), [])
  assert.deepEqual(await found({ sort: "-priority" }), [down, slow, bill])
  assert.deepEqual(await found({ sort: "created_at" }), [bill, down, slow])
  assert.equal((await customer.support.listTickets({ q: "database", limit: 1 })).total, 2)
})

test("customers set resolved, open and closed; what is the agents' to set is refused", async t => {
  const { customer } = await supportWorld(t)
  const { id } = await customer.support.createTicket(HELP)
  for (const status of ["pending", "on_hold"] as const) {
    const refused = customer.support.updateTicket({ id, status })
    await assert.rejects(refused, { status: 409, code: "invalid_state_transition" })
  }
  assert.ok((await customer.support.updateTicket({ id, status: "resolved" })).resolved_at)
  const again = await customer.support.updateTicket({ id, status: "open" })
  assert.deepEqual([again.status, again.resolved_at], ["open", null])
  assert.ok((await customer.support.updateTicket({ id, status: "closed" })).closed_at)
})

test("what is no ticket is refused by the field's name", async t => {
  const { customer } = await supportWorld(t)
  const wrong = [
    [{ ...HELP, subject: "" }, /subject/],
    [{ ...HELP, description: "x".repeat(20_001) }, /description/],
    [{ ...HELP, priority: "huge" }, /priority/],
    [{ ...HELP, tags: Array.from({ length: 21 }, String) }, /tags/],
    [{ ...HELP, status: "closed" }, /status/],
    [{ subject: "Help" }, /description/],
  ] as const
  for (const [input, field] of wrong) {
    const error = await customer.support.createTicket(input as never).then(
      () => assert.fail(`took ${field}`),
      (reason: { status: number; errors: { location: string }[] }) => reason,
    )
    assert.equal(error.status, 400)
    assert.match(JSON.stringify(error.errors), field)
  }
})

test("an organization has at most 1,000 tickets open, and a ticket at most 1,000 comments", async t => {
  const { p, customer } = await supportWorld(t)
  const { id } = await customer.support.createTicket(HELP)
  await p.database.db.updateTable("support.tickets").set({ comment_count: 1000 }).execute()
  const full = { status: 400, code: "invalid_parameter" }
  await assert.rejects(customer.support.addComment({ id, body: "More" }), full)
  const { organizationId } = await p.tenant("acme")
  const { pool } = p.database
  await pool.query(
    `INSERT INTO support.tickets SELECT gen_random_uuid(), organization_id, nextval('support.ticket_numbers'),
       subject, description, status, priority, category, tags, requester_id, requester_name, requester_email,
       assignee_id, session_id, comment_count, note_count, reply_key, first_response_at, last_comment_at,
       resolved_at, closed_at, created_at, updated_at
     FROM support.tickets, generate_series(1, 999) WHERE organization_id = $1`,
    [organizationId],
  )
  await assert.rejects(customer.support.createTicket(HELP), full)
  await customer.support.closeTicket({ id })
  await customer.support.createTicket(HELP)
})

test("a key without any scope asks for help, a read-only one reads", async t => {
  const { p } = await supportWorld(t)
  const bare = p.as((await p.key("acme", [])).secret)
  const { id } = await bare.support.createTicket(HELP)
  const reader = p.as((await p.key("acme", everyScope, { project_id: null, read_only: true })).secret)
  assert.equal((await reader.support.getTicket({ id })).id, id)
  await assert.rejects(reader.support.closeTicket({ id }), { code: "key_read_only" })
})
