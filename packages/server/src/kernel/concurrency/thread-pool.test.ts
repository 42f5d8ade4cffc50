import assert from "node:assert/strict"
import { test } from "node:test"
import { Fault } from "../fault.ts"
import { createThreadPool } from "./thread-pool.ts"

test("a pool that closes answers each task: those that run, those that wait, and those that come later", async () => {
  const pool = createThreadPool<string, string>({
    name: "svc-test",
    file: new URL("testing/never-answers.ts", import.meta.url),
    threadsMax: 1,
    memoryMb: 32,
    idleMs: 1_000,
    refusal: "the task cannot be done",
    timeoutMs: () => 60_000,
  })
  const unavailable = (error: unknown) => error instanceof Fault && error.code === "service_unavailable"
  const refused = ["first", "second", "third"].map(tenantId =>
    assert.rejects(pool.run(tenantId, "task"), unavailable),
  )
  await pool[Symbol.asyncDispose]()
  await Promise.all(refused)
  await assert.rejects(pool.run("late", "task"), unavailable)
})
