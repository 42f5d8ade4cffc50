import { runSql } from "./conformance/fixture.ts"
import { engineConformance } from "./conformance.ts"
import { testSite } from "./drivers/cnpg/testing/site.ts"

engineConformance("CloudNativePG", async t => ({ port: await (await testSite(t)).open(), sql: runSql }))
