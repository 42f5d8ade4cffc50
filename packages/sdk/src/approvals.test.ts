import assert from "node:assert/strict"
import { test } from "node:test"
import { ApprovalPending, createSvc, SvcError } from "./index.ts"
import { openEndpoint } from "./testing/endpoint.ts"

const ID = "01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10"
const PROJECT = "01980d5e-7c3a-7b61-9c55-0a4f3e8b2d11"

const approval = (status: string, more = {}) => ({
  id: ID,
  status,
  operation: "projects.update",
  comment: null,
  result: null,
  ...more,
})

const waiting = {
  status: 202,
  headers: { "retry-after": "2", "x-request-id": "req-1", location: `/v1/approvals/${ID}` },
  body: { data: { status: "pending_approval", approval: approval("pending") }, request_id: "req-1" },
}

/** A platform on which the approval passes through these states, one a poll. */
const openApprovals = (t: Parameters<typeof openEndpoint>[0], states: readonly unknown[]) =>
  openEndpoint(t, (_, index) => (index === 0 ? waiting : { body: { data: states[index - 1] } }))

test("a call that waits for a person throws the approval record unless told to wait", async t => {
  const { url, received } = await openApprovals(t, [])

  await assert.rejects(createSvc({ baseUrl: url }).projects.update({ id: PROJECT, name: "x" }), error => {
    assert.ok(error instanceof ApprovalPending)
    assert.ok(error instanceof SvcError)
    assert.equal(error.status, 202)
    assert.equal(error.code, "approval_required")
    assert.equal(error.approval.id, ID)
    assert.equal(error.requestId, "req-1")
    assert.equal(error.retryAfter, 2)
    return true
  })

  assert.equal(received.length, 1)
})

test("a client that waits polls as told and returns the result of the approved request", async t => {
  const result = { status: 200, body: { id: PROJECT, name: "x" } }
  const { url, received } = await openApprovals(t, [
    approval("pending"),
    approval("executing"),
    approval("executed", { result }),
  ])
  const waits: number[] = []
  const svc = createSvc({ baseUrl: url, approvals: "wait", sleep: async ms => void waits.push(ms) })

  const project = await svc.projects.update({ id: PROJECT, name: "x" })

  assert.deepEqual(project, { id: PROJECT, name: "x" })
  assert.deepEqual(waits, [2000, 2000, 2000])
  assert.deepEqual(
    received.slice(1).map(({ method, path }) => `${method} ${path}`),
    Array(3).fill(`GET /v1/approvals/${ID}`),
  )
})

test("a rejection is thrown with the words of the person who decided", async t => {
  const { url } = await openApprovals(t, [approval("rejected", { comment: "not on a Friday" })])
  const svc = createSvc({ baseUrl: url, approvals: "wait", sleep: async () => {} })

  await assert.rejects(svc.projects.update({ id: PROJECT, name: "x" }), {
    status: 403,
    code: "approval_rejected",
    message: `approval ${ID} is rejected: not on a Friday`,
  })
})

test("an approved request that failed throws its own error", async t => {
  const body = { code: "name_taken", error: "taken", docs_url: "http://d", request_id: "req-9" }
  const { url } = await openApprovals(t, [approval("failed", { result: { status: 409, body } })])
  const svc = createSvc({ baseUrl: url, approvals: "wait", sleep: async () => {} })

  await assert.rejects(svc.projects.update({ id: PROJECT, name: "x" }), { status: 409, code: "name_taken" })
})

test("a lapsed approval ends the wait", async t => {
  const { url } = await openApprovals(t, [approval("expired")])
  const svc = createSvc({ baseUrl: url, approvals: "wait", sleep: async () => {} })

  await assert.rejects(svc.projects.update({ id: PROJECT, name: "x" }), { code: "approval_expired" })
})

test("a 202 of the operation's own is no approval", async t => {
  const { url } = await openEndpoint(t, () => ({ status: 202, body: { data: { status: "queued" } } }))

  assert.deepEqual(await createSvc({ baseUrl: url }).projects.update({ id: PROJECT, name: "x" }), {
    status: "queued",
  })
})
