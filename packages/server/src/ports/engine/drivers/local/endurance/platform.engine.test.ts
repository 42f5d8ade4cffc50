/** The platform's process is killed at any moment, and another one takes over its folder. */
import assert from "node:assert/strict"
import { type ChildProcess, fork } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { readdir, realpath } from "node:fs/promises"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { rejectsAs, runSql } from "../../../conformance/fixture.ts"
import { type EnginePort, OWNER_ROLE } from "../../../port.ts"
import { openLocalEngine } from "../driver.ts"
import { newEngineDir, sharedTemplates } from "../testing/engine.ts"
import { findGaps, readArchive } from "../wal/archive.ts"
import { assertHolds, auditBank, chooseSeed, randomFrom } from "./bank.ts"
import { type Deed, type PlatformReport, subjectOf } from "./doomed-platform.ts"
import { processesIn } from "./scene.ts"

const ROUNDS = 4
const IDS_PER_ROUND = 1_000_000

/** What is known of the volumes from what was told. */
interface Known {
  readonly acknowledged: number[]
  /** Volumes that were made, and of which nothing else was begun that would take them away. */
  readonly living: Set<string>
  /** What was under way when the process was killed. */
  underWay: { readonly deed: Deed; readonly id: string } | undefined
  readonly failures: string[]
  deeds: number
}

const listen = (child: ChildProcess, known: Known) =>
  child.on("message", (told: PlatformReport) => {
    if (told.kind === "acknowledged") {
      known.acknowledged.push(...told.ids)
      return
    }
    const { deed, id } = told
    if (told.kind === "begun") {
      known.underWay = { deed, id }
      if (deed === "destroy") known.living.delete(id)
      return
    }
    known.underWay = undefined
    known.deeds += 1
    if (told.kind === "failed") known.failures.push(`${deed} ${id}: ${told.reason}`)
    else if (["create", "branch", "restore"].includes(deed)) known.living.add(id)
  })

const foldersIn = async (folder: string) =>
  (await readdir(folder, { recursive: true })).filter(path => /(^|\/)\.(making|reflink)-/.test(path))

const answers = async (port: EnginePort, id: string): Promise<void> => {
  const { ref, credentials } = subjectOf(id)
  const at = { endpoint: await port.wake(ref), role: OWNER_ROLE, password: credentials.owner }
  assert.deepEqual(await runSql(at, "SELECT 1 AS n"), [{ n: 1 }])
}

/** Whoever asked for something that was cut off asks again, and gets it. */
const askAgain = async (port: EnginePort, bankId: string, { deed, id }: { deed: Deed; id: string }) => {
  const { ref, credentials } = subjectOf(id)
  if (deed === "create") await port.create(ref, credentials)
  else if (deed === "branch" || deed === "restore")
    await port.branch(subjectOf(bankId).ref, ref, { kind: "head" }, credentials)
  else if (deed === "destroy") return port.destroy(ref).then(() => rejectsAs("missing", () => port.wake(ref)))
  await answers(port, id)
}

const startDoomed = async (
  t: TestContext,
  known: Known,
  { words, afterDeeds }: { words: readonly string[]; afterDeeds: number },
) => {
  const child = fork(fileURLToPath(new URL("doomed-platform.ts", import.meta.url)), words, {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  })
  t.after(() => child.kill("SIGKILL"))
  const lines: string[] = []
  child.stderr?.on("data", data => lines.push(String(data)))
  listen(child, known)
  // What it told may still be on the way when it has ended.
  const exited = Promise.all([once(child, "exit"), once(child, "disconnect")])
  const wanted = known.deeds + afterDeeds
  const deadline = performance.now() + 300_000
  const transfers = known.acknowledged.length
  const isBusy = () =>
    known.deeds >= wanted && known.underWay !== undefined && known.acknowledged.length > transfers
  while (!isBusy()) {
    assert.equal(child.exitCode, null, lines.slice(-20).join(""))
    assert.ok(performance.now() < deadline, `too slow: ${lines.slice(-20).join("")}`)
    await delay(5)
  }
  return { child, exited }
}

test("a platform that is killed at any moment leaves nothing that blocks the next one, and no commit behind", async t => {
  const seed = chooseSeed()
  t.diagnostic(`seed ${seed}`)
  const random = randomFrom(seed)
  const dataDir = await newEngineDir(t)
  const templatesDir = await sharedTemplates()
  const bankId = randomUUID()
  const known: Known = { acknowledged: [], living: new Set(), underWay: undefined, failures: [], deeds: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    known.underWay = undefined
    const words = [dataDir, templatesDir, seed + round, bankId, round * IDS_PER_ROUND].map(String)
    const { child, exited } = await startDoomed(t, known, { words, afterDeeds: Math.floor(random() * 3) })
    await delay(random() * 1_200)
    child.kill("SIGKILL")
    await exited
    const cutOff = known.underWay as Known["underWay"]
    t.diagnostic(`killed during ${cutOff?.deed}, ${known.acknowledged.length} transfers`)
    assert.deepEqual(known.failures, [])

    const lines: string[] = []
    const root = await realpath(join(dataDir, "databases"))
    {
      await using port = await openLocalEngine({ dataDir, templatesDir, log: line => lines.push(line) })
      assert.deepEqual(processesIn(root), [], "servers that outlived the platform")
      assert.deepEqual(await foldersIn(root), [], "folders that were being made")
      const records = await readdir(join(root, "records"))
      for (const id of await readdir(join(root, "volumes"))) assert.ok(records.includes(id), `${id} is lost`)

      const bank = subjectOf(bankId)
      const journal = { sent: [], acknowledged: known.acknowledged }
      assertHolds(await auditBank(port, bank), journal, {
        before: { sent: 0, acknowledged: known.acknowledged.length },
      })
      for (const id of known.living) await answers(port, id)
      if (cutOff) await askAgain(port, bankId, cutOff)
      for (const id of [...known.living, cutOff?.id ?? ""].filter(Boolean))
        await port.destroy(subjectOf(id).ref)
      known.living.clear()
      assert.deepEqual(findGaps(await readArchive(join(root, "records", bankId, "wal"))), [])
    }
    assert.deepEqual(processesIn(root), [], "servers that outlived the engine")
    assert.deepEqual(await readdir(join(root, "volumes")), [bankId])
    assert.deepEqual(await readdir(join(root, "records")), [bankId])
  }
})
