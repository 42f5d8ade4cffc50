import assert from "node:assert/strict"
import { test } from "node:test"
import { attemptDelivery } from "./attempt.ts"
import type { Endpoint, Invocation, InvocationAnswer } from "./deliveries.ts"
import { createSigningSecret } from "./signature.ts"

const outbound = {
  request: () => Promise.reject(new Error("a function is not reached over the network")),
}

const message = {
  ...{ id: "019a0000-0000-7000-8000-000000000001", tenantId: "t", projectId: null, type: "order.paid" },
  ...{ source: "billing", topic: "orders", at: new Date(0), data: "{}" },
}

/** An attempt at a function that answers when it is told to. */
const attemptAt = (signal: AbortSignal) => {
  const answer = Promise.withResolvers<InvocationAnswer>()
  const begun = Promise.withResolvers<Invocation>()
  const invoke = (call: Invocation) => {
    begun.resolve(call)
    return answer.promise
  }
  const endpoint: Endpoint = {
    ...{ target: { name: "bill", invoke }, secrets: [createSigningSecret()], timeoutSeconds: 0.001 },
  }
  const request = { deliveryId: "d", number: 1, trigger: "scheduled", message, endpoint, nowMs: 0 } as const
  return { made: attemptDelivery(outbound, { ...request, signal }), begun: begun.promise, answer }
}

test("an attempt at a function ends with the function, however long that takes", async () => {
  const { made, begun, answer } = attemptAt(new AbortController().signal)
  const { timeoutMs } = await begun
  await new Promise(resolve => setTimeout(resolve, 10 * timeoutMs))
  answer.resolve({ status: 200, body: "done" })
  const { attempt } = await made
  assert.deepEqual([attempt.status_code, attempt.response_body, attempt.error], [200, "done", null])
})

test("the end of the process cuts an attempt at a function short", async () => {
  const controller = new AbortController()
  const { made, begun } = attemptAt(controller.signal)
  await begun
  controller.abort()
  assert.equal((await made).attempt.error?.code, "timeout")
})
