/** The real process, killed while functions run. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { readFirstRun, spawnSvc } from "../../testing/process.ts"

/** Of this run: others may go on beside it. */
const MARK = `a-function-of-the-durability-test-${randomUUID()}`

/** Processes of this machine whose command line or environment names the mark. */
const marked = async (): Promise<string[]> => {
  const found: string[] = []
  for (const pid of (await readdir("/proc")).filter(name => /^\d+$/.test(name))) {
    const seen = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")
    if (pid !== String(process.pid) && (seen.includes(MARK) || line.includes(MARK))) found.push(pid)
  }
  return found
}

test("an asynchronous invocation that a killed process ran is run again, and nothing of the first run is left", async t => {
  const first = spawnSvc(t)
  const baseUrl = await first.ready
  const { api_key: apiKey } = readFirstRun(first.dataDir)
  const before = createSvc({ apiKey, baseUrl })
  const code = `import { spawn } from "node:child_process"
    export const handler = async () => {
      if (process.env.SLOW === "yes") {
        spawn("/bin/sleep", ["1000"], { detached: true, env: { MARK: "${MARK}" } })
        console.log("begun")
        await new Promise(() => {})
      }
      return "done"
    }`
  const { id } = await before.functions.create({
    ...{ name: "slow", runtime: "nodejs", code, env: { SLOW: "yes" }, timeout_seconds: 300 },
  })
  const { invocation_id } = await before.functions.invoke({ id, mode: "async", payload: {} })
  await eventually("it has begun", async () => (await before.functions.logs({ id })).data.length > 0)
  assert.ok((await marked()).length > 0)
  await before.functions.update({ id, env: { SLOW: "no" } })
  first.signal("SIGKILL")
  await first.exited

  const second = spawnSvc(t, { dataDir: first.dataDir })
  const svc = createSvc({ apiKey, baseUrl: await second.ready })
  await eventually("nothing is left", async () => (await marked()).length === 0)
  await eventually("it has run again", async () => {
    const { status } = await svc.functions.getInvocation({ id, invocation_id })
    return status === "success"
  })
  const { attempt, result } = await svc.functions.getInvocation({ id, invocation_id })
  assert.deepEqual([attempt, result], [2, "done"])
  const folders = await readdir(join(first.dataDir, "functions", "instances"))
  assert.ok(folders.length <= 2, `${folders.length} folders of instances`)
})
