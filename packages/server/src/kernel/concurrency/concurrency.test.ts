import assert from "node:assert/strict"
import { test } from "node:test"
import { createFairScheduler } from "./fair-scheduler.ts"
import { createKeyedMutex } from "./keyed-mutex.ts"
import { createMutex, createSemaphore } from "./semaphore.ts"

/** Tasks that end when the test says so, and which of them have begun. */
const tasks = () => {
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<string>>()
  return {
    begun,
    task: (name: string) => () => {
      begun.push(name)
      const end = Promise.withResolvers<string>()
      ends.set(name, end)
      return end.promise
    },
    async end(name: string) {
      ends.get(name)?.resolve(name)
      await settled()
    },
    async fail(name: string) {
      ends.get(name)?.reject(new Error(name))
      await settled()
    },
  }
}

const settled = () => new Promise<void>(resolve => setImmediate(resolve))

test("a semaphore runs as many tasks at once as it has permits, the others in the order of their coming", async () => {
  const { begun, task, end, fail } = tasks()
  const semaphore = createSemaphore(2)
  const [a, b, c, d] = ["a", "b", "c", "d"].map(name => semaphore.run(task(name)))
  await settled()
  assert.deepEqual(begun, ["a", "b"])
  assert.equal(semaphore.waiting, 2)
  assert.ok(b)
  const failed = assert.rejects(b, { message: "b" })
  await fail("b")
  await failed
  assert.deepEqual(begun, ["a", "b", "c"])
  await end("a")
  assert.deepEqual(begun, ["a", "b", "c", "d"])
  await end("c")
  await end("d")
  assert.deepEqual(await Promise.all([a, c, d]), ["a", "c", "d"])
})

test("a semaphore refuses callers beyond those that may wait", async () => {
  const semaphore = createSemaphore(1, { waitingMax: 1, full: () => new Error("full") })
  await semaphore.acquire()
  const second = semaphore.acquire()
  await assert.rejects(semaphore.acquire(), { message: "full" })
  semaphore.release()
  await second
})

test("a caller that needs many permits is not overtaken by those that need few", async () => {
  const order: string[] = []
  const semaphore = createSemaphore(10)
  await semaphore.acquire(8)
  const large = semaphore.acquire(6).then(() => order.push("large"))
  const small = semaphore.acquire(1).then(() => order.push("small"))
  await settled()
  assert.deepEqual(order, [])
  semaphore.release(8)
  await Promise.all([large, small])
  assert.deepEqual(order, ["large", "small"])
})

test("a caller that gives up waiting frees its place, and the next one gets what is there", async () => {
  const semaphore = createSemaphore(2)
  await semaphore.acquire()
  const leaving = new AbortController()
  const large = semaphore.acquire(2, leaving.signal)
  const small = semaphore.acquire(1)
  const left = assert.rejects(large, { message: "gone" })
  leaving.abort(new Error("gone"))
  await left
  await small
  assert.equal(semaphore.waiting, 0)
  await assert.rejects(semaphore.acquire(1, leaving.signal), { message: "gone" })
})

test("a mutex goes on after a task that failed", async () => {
  const mutex = createMutex()
  const failed = mutex.run(() => Promise.reject(new Error("first")))
  const second = mutex.run(async () => "second")
  await assert.rejects(failed, { message: "first" })
  assert.equal(await second, "second")
})

test("a keyed mutex orders tasks of one key, and lets other keys run", async () => {
  const { begun, task, end, fail } = tasks()
  const mutex = createKeyedMutex()
  const first = mutex.run("x", task("first"))
  const second = mutex.run("x", task("second"))
  const other = mutex.run("y", task("other"))
  await settled()
  assert.deepEqual(begun, ["first", "other"])
  const failed = assert.rejects(first, { message: "first" })
  await fail("first")
  await failed
  assert.deepEqual(begun, ["first", "other", "second"])
  await end("second")
  await end("other")
  assert.deepEqual(await Promise.all([second, other]), ["second", "other"])
})

test("a fair scheduler gives each tenant the same turns, however many items it has", () => {
  const scheduler = createFairScheduler<{ tenant: string; id: string }>(
    ({ tenant }) => tenant,
    ({ id }) => id,
  )
  for (const id of ["1", "2", "3"]) scheduler.add({ tenant: "many", id })
  const single = { tenant: "few", id: "4" }
  scheduler.add(single)
  const turns = (count: number) => Array.from({ length: count }, () => scheduler.next()?.id)
  assert.deepEqual(turns(6), ["1", "4", "2", "4", "3", "4"])
  scheduler.remove(single)
  assert.deepEqual(turns(3), ["1", "2", "3"])
})

test("a fair scheduler without items has no turn to give", () => {
  const scheduler = createFairScheduler<string>(
    () => "tenant",
    item => item,
  )
  assert.equal(scheduler.next(), undefined)
  scheduler.add("only")
  scheduler.remove("only")
  assert.equal(scheduler.next(), undefined)
})
