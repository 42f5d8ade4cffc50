import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { kvConformance } from "./conformance.ts"
import { openLmdbKv } from "./drivers/lmdb/driver.ts"

const temporaryFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-kv-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const openAt = async (t: TestContext, path: string) => {
  const kv = await openLmdbKv({ path })
  t.after(() => kv[Symbol.asyncDispose]())
  return kv
}

type Task = "write" | "add" | "fill"

const startSecondProcess = (
  t: TestContext,
  path: string,
  task: Task,
  owner: string,
  limits: string[] = [],
) => {
  const program = fileURLToPath(new URL("drivers/lmdb/second-process.ts", import.meta.url))
  const [command = "", ...args] = [...limits, process.execPath, program, path, task, owner]
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] })
  t.after(() => child.kill("SIGKILL"))
  return child
}

const linesOf = ({ stdout }: ChildProcess) => {
  assert.ok(stdout)
  return createInterface({ input: stdout })
}

kvConformance("LMDB", async t => openAt(t, await temporaryFolder(t)))

test("every write that was acknowledged is there after kill -9 under load", async t => {
  const path = await temporaryFolder(t)
  const owner = randomUUID()
  const child = startSecondProcess(t, path, "write", owner)
  const acknowledged: string[] = []
  for await (const key of linesOf(child)) {
    acknowledged.push(key)
    if (acknowledged.length === 2_000) child.kill("SIGKILL")
  }

  const kv = await openAt(t, path)
  assert.ok(acknowledged.length >= 2_000)
  for (const key of acknowledged) {
    assert.equal((await kv.get(owner, key, 1))?.value, JSON.stringify(key.repeat(20)))
  }
  const { keys } = await kv.usage(owner)
  assert.ok(keys >= acknowledged.length, "the counters died with their entries, not before them")
  assert.equal(await kv.erase(owner), keys)
})

test("two processes that open one store see each other's writes and lose none", async t => {
  const path = await temporaryFolder(t)
  const owner = randomUUID()
  const kv = await openAt(t, path)
  await kv.set(owner, "n", { value: "0", expiresAt: null }, 1)
  const child = startSecondProcess(t, path, "add", owner)
  const ended = once(child, "exit")
  for (let added = 0; added < 100; ) {
    const entry = await kv.get(owner, "n", 1)
    const write = {
      value: `${Number(entry?.value) + 1}`,
      expiresAt: null,
      onlyIf: { version: entry?.version },
    }
    if ((await kv.set(owner, "n", write, 1)).stored) added += 1
  }
  assert.deepEqual(await ended, [0, null])
  assert.equal((await kv.get(owner, "n", 1))?.value, "200")
})

const prlimit = "/usr/bin/prlimit"

test("a full disk makes writes unavailable and loses none that were acknowledged", {
  skip: !existsSync(prlimit) && "prlimit is not installed",
}, async t => {
  const path = await temporaryFolder(t)
  const owner = randomUUID()
  const child = startSecondProcess(t, path, "fill", owner, [prlimit, "--fsize=70000000"])
  const ended = once(child, "exit")
  const acknowledged: string[] = []
  for await (const key of linesOf(child)) acknowledged.push(key)
  assert.deepEqual(await ended, [0, null])

  const kv = await openAt(t, path)
  assert.equal(acknowledged.at(-1), "small")
  assert.equal(await kv.exists(owner, acknowledged, 1), acknowledged.length - 2)
  assert.equal((await kv.usage(owner)).keys, acknowledged.length - 2)
})

test("a store outgrows the address space that it began with", async t => {
  const kv = await openLmdbKv({ path: await temporaryFolder(t), mapSizeBytes: 1024 * 1024 })
  t.after(() => kv[Symbol.asyncDispose]())
  const owner = randomUUID()
  const value = JSON.stringify("x".repeat(500_000))
  for (let n = 0; n < 20; n += 1) await kv.set(owner, `k${n}`, { value, expiresAt: null }, 1)
  assert.equal((await kv.get(owner, "k0", 1))?.value, value)
  assert.equal((await kv.usage(owner)).keys, 20)
})
