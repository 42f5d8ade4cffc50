import assert from "node:assert/strict"
import { test } from "node:test"
import { Fault } from "../kernel/fault.ts"
import { PortError } from "../ports/port-error.ts"
import { invalidParameter, serviceUnavailable, translatePortErrors } from "./port-faults.ts"

const callPort = translatePortErrors({
  unavailable: serviceUnavailable("the engine does not answer"),
  refused: invalidParameter("the engine cannot hold this"),
})

test("an engine that is away is a 503 with a time to come back, and the log gets the cause", async () => {
  const cause = new PortError("unavailable", "ECONNREFUSED 10.0.0.1")
  await assert.rejects(
    callPort(async () => {
      throw cause
    }),
    error => {
      assert.ok(error instanceof Fault)
      assert.equal(error.code, "service_unavailable")
      assert.equal(error.details.headers?.["retry-after"], "2")
      assert.equal(error.details.internal, cause)
      assert.ok(!error.message.includes("10.0.0.1"))
      return true
    },
  )
})

test("what a synchronous call throws is translated too, and its result stays synchronous", () => {
  assert.throws(
    () =>
      callPort(() => {
        throw new PortError("refused", "too large")
      }),
    { code: "invalid_parameter" },
  )
  assert.equal(
    callPort(() => 1),
    1,
  )
})

test("an error of a kind that has no fault, and one that is no port's, are thrown as they are", async () => {
  for (const error of [new PortError("missing", "no such key"), new TypeError("a bug")])
    await assert.rejects(
      callPort(() => Promise.reject(error)),
      thrown => thrown === error,
    )
})
