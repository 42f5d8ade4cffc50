/** Sandboxes for tests, and what is said of them. */
import assert from "node:assert/strict"
import { setTimeout as delay } from "node:timers/promises"
import type { Scope } from "@svc/contract"
import { type Svc, SvcError } from "@svc/sdk"

export const SANDBOX_SCOPES: readonly Scope[] = ["sandboxes:read", "sandboxes:write"]
export const SMALL = { memory_mb: 256, vcpus: 0.5 } as const

export const refusedAs =
  (code: string, status: number) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof SvcError, String(error))
    assert.deepEqual([error.code, error.status], [code, status])
    return true
  }

type CreateInput = NonNullable<Parameters<Svc["sandboxes"]["create"]>[0]>

/** A small sandbox that has answered a command. */
export const runningSandbox = async (svc: Svc, input: CreateInput = {}) => {
  const { id } = await svc.sandboxes.create({ ...SMALL, ...input })
  assert.equal((await svc.sandboxes.runCommand({ id, command: "true" })).exit_code, 0)
  return id
}

/** Waits for what other processes do, for a minute at most. */
export const eventually = async <Value>(
  what: string,
  look: () => Promise<Value>,
  holds: (value: Value) => boolean,
): Promise<Value> => {
  const deadline = performance.now() + 60_000
  for (;;) {
    const value = await look()
    if (holds(value)) return value
    assert.ok(performance.now() < deadline, `never came true: ${what}`)
    await delay(10)
  }
}
