import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { engineConformance } from "../../../conformance.ts"
import { runSql } from "../../../conformance/fixture.ts"
import { openLocalEngine } from "../../local/driver.ts"
engineConformance("Local", async t => {
  const dataDir = await mkdtemp(join(tmpdir(), "svc-engine-"))
  const port = await openLocalEngine({ dataDir, templatesDir: process.env["SVC_TEST_TEMPLATES"], log: () => undefined })
  t.after(async () => { await port[Symbol.asyncDispose](); await rm(dataDir, { recursive: true, force: true }) })
  return { port, sql: runSql }
})
