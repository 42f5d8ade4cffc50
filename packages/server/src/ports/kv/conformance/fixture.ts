/** What the conformance tests share. */
import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import { PortError, type PortErrorKind } from "../../port-error.ts"
import type { KvPort, KvWrite } from "../port.ts"

/** An empty store, closed after the test. */
export type OpenKv = (t: TestContext) => Promise<KvPort>

export const NOW = Date.UTC(2027, 0, 1)
export const MINUTE = 60_000

export const text = (value: string, rest: Partial<KvWrite> = {}): KvWrite => ({
  value,
  expiresAt: null,
  ...rest,
})

export const rejectsAs = (kind: PortErrorKind, act: () => unknown): Promise<void> =>
  assert.rejects(
    async () => await act(),
    (error: unknown) => error instanceof PortError && error.kind === kind,
  )

export const listAll = async (
  kv: KvPort,
  owner: string,
  pattern: string,
  limit = 1000,
): Promise<string[]> => {
  const keys: string[] = []
  let cursor: string | null = null
  do {
    const page = await kv.list(owner, { pattern, limit, cursor }, NOW)
    assert.ok(page.keys.length <= limit)
    keys.push(...page.keys)
    cursor = page.cursor
  } while (cursor !== null)
  return keys
}

export const inByteOrder = (keys: readonly string[]): string[] =>
  [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

/** No more at once than a server that is short of time answers in time. */
const SET_AT_ONCE = 100

export const fill = async (kv: KvPort, owner: string, keys: readonly string[]): Promise<void> => {
  for (let at = 0; at < keys.length; at += SET_AT_ONCE) {
    const some = keys.slice(at, at + SET_AT_ONCE)
    await Promise.all(some.map(key => kv.set(owner, key, text(JSON.stringify(key)), NOW)))
  }
}
