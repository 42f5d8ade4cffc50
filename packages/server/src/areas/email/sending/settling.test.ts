import assert from "node:assert/strict"
import { test } from "node:test"
import { deliveryWorld } from "../testing/delivery-world.ts"
import { readMessages, readRecipients } from "./due-store.ts"
import { createSettling } from "./settling.ts"

test("what cannot be written of one mail costs the others nothing, and the cancelled stay so", async t => {
  const { p, svc, mail } = await deliveryWorld(t)
  const { db } = p.database
  const stored = [await mail(), await mail(), await mail(), await mail()]
  const keys = stored.map(({ organizationId, recipientId }) => ({
    ...{ organization_id: organizationId, id: recipientId },
  }))
  const [, broken, cancelled, bounced] = keys.map(({ id }) => id)
  await db.updateTable("email.recipients").set({ status: "queued" }).execute()
  await db
    .updateTable("email.recipients")
    .set({ status: "cancelled" })
    .where("id", "=", cancelled ?? "")
    .execute()

  const suppressed: string[] = []
  const settle = createSettling({
    database: p.database,
    platformEvents: { isWanted: () => false, emit: async () => undefined, listen: () => undefined },
    delivery: { suppressAfter: async (_db, { emailId }) => void suppressed.push(emailId) },
  })
  const reply = { code: 550, enhancedCode: "5.1.1", response: "no", host: null, address: null }
  const recipients = await readRecipients(db, keys)
  const messages = await readMessages(
    db,
    stored.map(({ organizationId, emailId }) => ({ organization_id: organizationId, id: emailId })),
  )
  const outcomes = await Promise.allSettled(
    recipients.map(recipient => {
      const message = messages.find(({ id }) => id === recipient.email_id)
      assert.ok(message)
      const isBounced = recipient.id === bounced
      // More than the column holds.
      const attempts = recipient.id === broken ? 2 ** 40 : recipient.attempts
      return settle({
        ...{ message, recipient: { ...recipient, attempts }, now: new Date(p.clock.now()) },
        outcome: isBounced ? { kind: "rejected", reply } : { kind: "accepted", reply: null },
        step: {
          ...{ status: isBounced ? "bounced" : "delivered", capturedAt: null, again: null },
          events: [[isBounced ? "bounced" : "sent", {}]],
        },
      })
    }),
  )
  const rejected = recipients.filter((_, at) => outcomes[at]?.status === "rejected").map(({ id }) => id)
  assert.deepEqual(rejected, [broken])
  const after = await readRecipients(db, keys)
  assert.deepEqual(
    keys.map(({ id }) => after.find(row => row.id === id)?.status),
    ["delivered", "queued", "cancelled", "bounced"],
  )
  const { data } = await svc.email.listEvents()
  assert.deepEqual(data.map(({ event }) => event).sort(), ["bounced", "sent"])
  assert.deepEqual(suppressed, [stored[3]?.emailId])
})
