import assert from "node:assert/strict"
import { test } from "node:test"
import { faultCodes, faultSpec } from "@svc/contract"
import { fault } from "./fault.ts"
import type { Logger } from "./log.ts"
import { logRefusal, refusal } from "./pipeline.ts"

const linesOf = (act: (log: Logger) => void) => {
  const lines: (readonly [level: string, fields: Record<string, unknown>])[] = []
  const at = (level: string) => (fields: Record<string, unknown>) => void lines.push([level, fields])
  act({ warn: at("warn"), error: at("error") } as unknown as Logger)
  return lines
}

test("only what nobody foresaw is logged as an error with a stack", () => {
  const internal = new Error("the socket is closed")
  for (const code of faultCodes) {
    const lines = linesOf(log =>
      logRefusal(log, fault(code, undefined, { internal }), { operation: "kv.get" }),
    )
    if (faultSpec(code).status < 500) assert.deepEqual(lines, [], code)
    else if (code === "internal_error")
      assert.deepEqual(lines, [["error", { operation: "kv.get", err: internal }]])
    else {
      const [[level, fields] = []] = lines
      assert.equal(level, "warn", code)
      assert.deepEqual([fields?.reason, fields?.err], ["the socket is closed", undefined])
    }
  }
})

test("a refusal that repeating cannot mend tells clients so, of every status that they repeat", () => {
  for (const code of faultCodes) {
    const { headers } = refusal(fault(code), "http://localhost", "id")
    const { status, retryable } = faultSpec(code)
    const isFinal = (status === 429 || status > 500) && !retryable
    assert.equal(headers?.["x-should-retry"], isFinal ? "false" : undefined, code)
  }
})
