import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import pg from "pg"
import type { Account } from "../account.ts"

export const isRoot = process.getuid?.() === 0

/** An ordinary user for tests that start as root. */
export const nobody: Account = { name: "nobody", uid: 65_534, gid: 65_534 }

const endings = new WeakMap<TestContext, AsyncDisposableStack>()

/** Runs after the test; what was registered last goes first, unlike with `t.after`: servers before their directories. */
export const atEnd = (t: TestContext, end: () => unknown): void => {
  let stack = endings.get(t)
  if (stack === undefined) {
    stack = new AsyncDisposableStack()
    endings.set(t, stack)
    t.after(stack.disposeAsync.bind(stack))
  }
  stack.defer(async () => {
    await end()
  })
}

/** A directory of the test, removed after it; every user may pass through it unless `mode` says otherwise. */
export const temporaryDir = (t: TestContext, { mode = 0o755, uid = -1 } = {}): string => {
  const directory = mkdtempSync(join(tmpdir(), "svc-embedded-"))
  if (uid >= 0) chownSync(directory, uid, uid)
  chmodSync(directory, mode)
  atEnd(t, () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}

export const query = async (connectionString: string, sql: string): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** The user, main group and supplementary groups of a process, as the kernel tells them. */
export const credentialsOf = (pid: number): { uid: number; gid: number; groups: string } => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(status)?.[1]?.trim() ?? ""
  return {
    uid: Number.parseInt(field("Uid"), 10),
    gid: Number.parseInt(field("Gid"), 10),
    groups: field("Groups"),
  }
}
