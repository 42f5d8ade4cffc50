import assert from "node:assert/strict"
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { StartupError } from "../../startup-error.ts"
import { acquireDataDirLock } from "./lock.ts"
import { startTimeOf } from "./processes.ts"
import { killHard } from "./testing/child-processes.ts"
import { atEnd, temporaryDir } from "./testing/directories.ts"

const LOCKER = fileURLToPath(import.meta.resolve("./testing/locker.ts"))

const forkLocker = async (): Promise<ChildProcess> => {
  const child = fork(LOCKER)
  await once(child, "message")
  return child
}

const attempt = async (child: ChildProcess, dataDir: string): Promise<{ won: boolean; message: string }> => {
  const answer = once(child, "message")
  child.send(dataDir)
  const [outcome] = await answer
  return outcome
}

test("a released lock can be taken again, and leaves nothing behind", t => {
  const dataDir = join(temporaryDir(t), "new", "data")
  acquireDataDirLock(dataDir)[Symbol.dispose]()
  const lock = acquireDataDirLock(dataDir)
  assert.equal(lock.dataDir, dataDir)
  assert.deepEqual(readdirSync(dataDir), ["svc.lock"])
  lock[Symbol.dispose]()
  lock[Symbol.dispose]()
  assert.deepEqual(readdirSync(dataDir), [])
})

test("a directory in use is refused with the process, the directory and what to do", async t => {
  const dataDir = temporaryDir(t)
  const holder = await forkLocker()
  atEnd(t, () => killHard(holder))
  assert.equal((await attempt(holder, dataDir)).won, true)

  assert.throws(
    () => acquireDataDirLock(dataDir),
    (error: unknown) =>
      error instanceof StartupError &&
      error.message === `The data directory ${dataDir} is in use by another Svc, process ${holder.pid}.` &&
      error.hint.includes("SVC_DATA_DIR"),
  )
})

test("a process cannot lock one directory twice", t => {
  const dataDir = temporaryDir(t)
  using _lock = acquireDataDirLock(dataDir)
  assert.throws(() => acquireDataDirLock(dataDir), /already in use by this process/)
})

test("the lock of a killed process is taken over", async t => {
  const dataDir = temporaryDir(t)
  const holder = await forkLocker()
  await attempt(holder, dataDir)
  await killHard(holder)
  using _lock = acquireDataDirLock(dataDir)
  assert.deepEqual(readdirSync(dataDir), ["svc.lock"])
})

test("a living process that only inherited the id of the holder does not keep the lock", t => {
  const dataDir = temporaryDir(t)
  const earlier = { pid: process.pid, startTime: "another-boot:1", token: "0123456789abcdef" }
  assert.notEqual(startTimeOf(process.pid), undefined)
  writeFileSync(join(dataDir, "svc.lock"), JSON.stringify(earlier))
  using lock = acquireDataDirLock(dataDir)
  assert.equal(lock.dataDir, dataDir)
})

test("a lock torn by a power cut, or by one in the middle of a takeover, is taken over", t => {
  const dataDir = temporaryDir(t)
  const dead = { pid: 2 ** 22 + 1, startTime: "boot:1", token: "00000000000000aa" }
  writeFileSync(join(dataDir, "svc.lock"), "")
  writeFileSync(join(dataDir, "svc.lock.unreadable"), JSON.stringify(dead))
  using _lock = acquireDataDirLock(dataDir)
  assert.deepEqual(readdirSync(dataDir), ["svc.lock"])
})

test("of five simultaneous starters exactly one wins, on a free and on a stale lock", async t => {
  const root = temporaryDir(t)
  const lockers = await Promise.all(Array.from({ length: 5 }, forkLocker))
  atEnd(t, () => Promise.all(lockers.map(killHard)))
  const dead = { pid: 2 ** 22 + 1, startTime: "boot:1", token: "00000000000000aa" }

  for (let round = 0; round < 60; round++) {
    const dataDir = join(root, String(round))
    if (round % 2 === 1) {
      acquireDataDirLock(dataDir)[Symbol.dispose]()
      writeFileSync(join(dataDir, "svc.lock"), JSON.stringify(dead))
    }
    const outcomes = await Promise.all(lockers.map(locker => attempt(locker, dataDir)))
    const winners = outcomes.filter(({ won }) => won)
    assert.equal(winners.length, 1, `round ${round}: ${JSON.stringify(outcomes)}`)
    assert.ok(existsSync(join(dataDir, "svc.lock")))
  }
})
