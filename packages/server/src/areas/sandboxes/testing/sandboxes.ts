/** Sandboxes for tests, and what is said of them. */
import assert from "node:assert/strict"
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
