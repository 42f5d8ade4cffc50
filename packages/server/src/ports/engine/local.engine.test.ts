import { runSql } from "./conformance/fixture.ts"
import { engineConformance } from "./conformance.ts"
import { openTestEngine } from "./drivers/local/testing/engine.ts"

engineConformance("the local engine", async t => ({ port: (await openTestEngine(t)).engine, sql: runSql }))
