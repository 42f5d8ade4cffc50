import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { cloneDatabase } from "../../testing/database.ts"
import { createLog } from "../log.ts"
import { listenForChanges } from "./changes.ts"
import { openDatabase } from "./database.ts"

/** Two processes on one database: what each has heard of the topic "thing". */
const twoProcesses = async (t: TestContext) => {
  const opened = new AsyncDisposableStack()
  t.after(() => opened.disposeAsync())
  const { url } = opened.use(await cloneDatabase())
  const { db, transaction } = opened.use(
    openDatabase({ connectionString: url, connectionsMax: 1, onError: () => undefined }),
  )
  const log = createLog("silent")
  const here = opened.use(await listenForChanges(url, log))
  const elsewhere = opened.use(await listenForChanges(url, log))
  const heard: string[] = []
  here.subscribe("thing", id => heard.push(`${id}`))
  const news = new EventTarget()
  elsewhere.subscribe("thing", id => news.dispatchEvent(new Event(`${id}`)))
  const heardElsewhere = (id: string) =>
    new Promise<void>(resolve => news.addEventListener(id, () => resolve(), { once: true }))
  return { db, transaction, changes: here, heard, heardElsewhere }
}

test("a change is heard here as soon as its transaction has committed, and by other processes", async t => {
  const { transaction, changes, heard, heardElsewhere } = await twoProcesses(t)
  const arrived = heardElsewhere("a")
  await transaction(async tx => {
    await changes.invalidate(tx, "thing", "a")
    assert.deepEqual(heard, [])
  })
  assert.equal(heard[0], "a")
  await arrived
})

test("a change that was rolled back is heard by nobody", async t => {
  const { db, transaction, changes, heard, heardElsewhere } = await twoProcesses(t)
  let wasHeard = false
  void heardElsewhere("undone").then(() => {
    wasHeard = true
  })
  const undone = transaction(async tx => {
    await changes.invalidate(tx, "thing", "undone")
    throw new Error("undone")
  })
  await assert.rejects(undone, { message: "undone" })
  // News arrive in their order, so those of the transaction would have come before these.
  const arrived = heardElsewhere("b")
  await changes.invalidate(db, "thing", "b")
  assert.deepEqual([...new Set(heard)], ["b"])
  await arrived
  assert.ok(!wasHeard)
})
