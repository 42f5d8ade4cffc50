/** Computers for tests, and what is said of them. */
import assert from "node:assert/strict"
import type { Scope } from "@svc/contract"
import { type Svc, SvcError } from "@svc/sdk"

export const SCOPES: readonly Scope[] = ["computers:read", "computers:write", "computers:exec"]
export const SMALL = { memory_mb: 256, vcpus: 0.5, disk_gb: 1 } as const

export const refusedAs =
  (code: string, status: number) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof SvcError, String(error))
    assert.deepEqual([error.code, error.status], [code, status])
    return true
  }

/** A small computer that has answered a command. */
export const runningComputer = async (svc: Svc, name: string, input: object = {}) => {
  const { id } = await svc.computers.create({ name, ...SMALL, ...input })
  assert.equal((await svc.computers.exec({ id, command: "true" })).exit_code, 0)
  return id
}

export const run = async ({ computers }: Svc, id: string, command: string, user: "user" | "root" = "user") =>
  (await computers.exec({ id, command, user })).stdout
