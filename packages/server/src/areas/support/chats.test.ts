import assert from "node:assert/strict"
import { test } from "node:test"
import { supportWorld } from "./testing/world.ts"

test("a chat begins, goes back and forth, is read and ends, and a further message opens it again", async t => {
  const { customer, desk } = await supportWorld(t)
  const made = await customer.support.createChat({ subject: "Restore", message: "I deleted a table." })
  const { id } = made
  assert.deepEqual([made.status, made.message_count, made.unread_count], ["open", 1, 0])

  const answer = await desk.support.agentPostMessage({ id, content: "Which one?", content_type: "markdown" })
  assert.deepEqual([answer.direction, answer.sequence, answer.author.type], ["outgoing", 2, "agent"])
  const waiting = await customer.support.getChat({ id })
  assert.deepEqual([waiting.status, waiting.unread_count, waiting.message_count], ["pending", 1, 2])

  assert.equal((await customer.support.readChat({ id })).unread_count, 0)
  const { data, total } = await customer.support.listMessages({ id })
  assert.equal(total, 2)
  assert.deepEqual(
    data.map(({ content, direction, read_at }) => [content, direction, read_at !== null]),
    [
      ["Which one?", "outgoing", true],
      ["I deleted a table.", "incoming", false],
    ],
  )
  assert.equal((await customer.support.closeChat({ id })).status, "resolved")
  assert.equal((await customer.support.closeChat({ id })).status, "resolved")
  await customer.support.postMessage({ id, content: "Orders!" })
  assert.equal((await customer.support.getChat({ id })).status, "open")
  assert.deepEqual(
    (await customer.support.listMessages({ id, after: 1 })).data.map(({ sequence }) => sequence),
    [2, 3],
  )
  assert.deepEqual(
    (await customer.support.listChats({ status: "open" })).data.map(chat => chat.id),
    [id],
  )
  assert.equal((await customer.support.listChats({ status: "snoozed" })).total, 0)
})

test("a message that is sent again with its client_message_id is there once, whoever sends at the same time", async t => {
  const { customer, desk } = await supportWorld(t)
  const { id } = await customer.support.createChat()
  const again = () => customer.support.postMessage({ id, content: "Hello", client_message_id: "m-1" })
  const sent = await Promise.all(Array.from({ length: 8 }, again))
  assert.equal(new Set(sent.map(message => message.id)).size, 1)
  assert.equal((await customer.support.listMessages({ id })).total, 1)
  const other = await desk.support.agentPostMessage({ id, content: "Hi", client_message_id: "m-1" })
  assert.equal(other.content, "Hi")
})

test("messages sent at the same time get one sequence each", async t => {
  const { customer } = await supportWorld(t)
  const { id } = await customer.support.createChat()
  await Promise.all(
    Array.from({ length: 12 }, (_, n) => customer.support.postMessage({ id, content: `${n}` })),
  )
  const { data } = await customer.support.listMessages({ id })
  assert.deepEqual(
    data.map(({ sequence }) => sequence),
    Array.from({ length: 12 }, (_, n) => 12 - n),
  )
})

test("a chat of another organization answers like one that never existed", async t => {
  const { customer, stranger, NOBODY } = await supportWorld(t)
  const { id } = await customer.support.createChat({ message: "Secret" })
  const none = { status: 404, code: "chat_session_not_found" }
  for (const named of [id, NOBODY]) {
    await assert.rejects(stranger.support.getChat({ id: named }), none)
    await assert.rejects(stranger.support.closeChat({ id: named }), none)
    await assert.rejects(stranger.support.readChat({ id: named }), none)
    await assert.rejects(stranger.support.listMessages({ id: named }), none)
    await assert.rejects(stranger.support.postMessage({ id: named, content: "Hi" }), none)
    await assert.rejects(stranger.support.streamChat({ id: named }), none)
  }
  assert.equal((await stranger.support.listChats()).total, 0)
})

test("a chat holds at most 10,000 messages, and an organization 500 chats that go on", async t => {
  const { p, customer } = await supportWorld(t)
  const { id } = await customer.support.createChat()
  await p.database.db.updateTable("support.chats").set({ message_count: 10_000 }).execute()
  const full = { status: 400, code: "invalid_parameter" }
  await assert.rejects(customer.support.postMessage({ id, content: "More" }), full)
  await p.database.pool.query(
    `INSERT INTO support.chats SELECT gen_random_uuid(), organization_id, status, subject, contact_id,
       contact_name, contact_email, assignee_id, customer_unread, agent_unread, message_count, last_message_at,
       created_at, updated_at FROM support.chats, generate_series(1, 499)`,
  )
  await assert.rejects(customer.support.createChat(), full)
  await customer.support.closeChat({ id })
  await customer.support.createChat()
})
