import assert from "node:assert/strict"
import { test } from "node:test"
import { TICKET_STATUSES } from "@svc/contract"
import { chatStatusAfter, mayMove, moved, statusAfterComment } from "./rules.ts"

const EARLIER = new Date("2026-01-01T00:00:00Z")
const NOW = new Date("2026-01-02T00:00:00Z")

test("each side may set these statuses, and nobody leaves closed", () => {
  const table = (side: "customer" | "agent") =>
    Object.fromEntries(
      TICKET_STATUSES.map(from => [from, TICKET_STATUSES.filter(to => mayMove(side, from, to)).join(" ")]),
    )
  assert.deepEqual(table("customer"), {
    open: "open resolved closed",
    pending: "open pending resolved closed",
    on_hold: "on_hold resolved closed",
    resolved: "open resolved closed",
    closed: "",
  })
  const any = TICKET_STATUSES.join(" ")
  assert.deepEqual(table("agent"), { open: any, pending: any, on_hold: any, resolved: any, closed: "" })
})

test("a comment of the customer's opens a ticket again, one of an agent's leaves it with the customer", () => {
  const after = (side: "customer" | "agent") => TICKET_STATUSES.map(from => statusAfterComment(side, from))
  assert.deepEqual(after("customer"), ["open", "open", "on_hold", "open", null])
  assert.deepEqual(after("agent"), ["pending", "pending", "on_hold", "resolved", null])
})

test("the times of being resolved and closed follow the status", () => {
  const open = { status: "open", resolved_at: null, closed_at: null }
  const resolved = { status: "resolved", resolved_at: EARLIER, closed_at: null }
  assert.deepEqual(moved(open, "resolved", NOW), { ...resolved, resolved_at: NOW })
  assert.deepEqual(moved(resolved, "resolved", NOW), resolved)
  assert.deepEqual(moved(resolved, "open", NOW), open)
  assert.deepEqual(moved(resolved, "closed", NOW), { ...resolved, status: "closed", closed_at: NOW })
  assert.deepEqual(moved(open, "closed", NOW), { ...open, status: "closed", closed_at: NOW })
})

test("a chat is with whoever did not speak last", () => {
  assert.deepEqual([chatStatusAfter("customer"), chatStatusAfter("agent")], ["open", "pending"])
})
