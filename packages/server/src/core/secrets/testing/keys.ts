/** The keys of tenants as one process after another knows them, over one database. */
import type { TestContext } from "node:test"
import { type Changes, listenForChanges } from "../../../kernel/db/changes.ts"
import { type Database, openDatabase } from "../../../kernel/db/database.ts"
import { createLog } from "../../../kernel/log.ts"
import { openLocalSecrets } from "../../../ports/secrets/drivers/local/driver.ts"
import type { SecretsPort } from "../../../ports/secrets/port.ts"
import { createTestClock } from "../../../testing/clock.ts"
import { cloneDatabase } from "../../../testing/database.ts"
import { createSecretBox, type SecretBox } from "../secret-box.ts"
import { createTenantKeys, type TenantKeys } from "../tenant-keys.ts"

export const TENANT = "0190a5c2-7d3e-7c41-9b0a-1f2e3d4c5b6a"
export const OTHER = "0190a5c2-7d3e-7c41-9b0a-1f2e3d4c5b6b"
export const MASTER_KEY = Buffer.alloc(32, "test")

export interface KeysProcess {
  readonly tenantKeys: TenantKeys
  readonly box: SecretBox
  readonly database: Database
  readonly changes: Changes
  /** How often it asked the secrets engine, and how often the database. */
  readonly asked: { engine: number; database: number }
}

const counted = (secrets: SecretsPort, asked: KeysProcess["asked"]): SecretsPort => ({
  ...secrets,
  wrap(key, context) {
    asked.engine++
    return secrets.wrap(key, context)
  },
  unwrap(wrapped, context) {
    asked.engine++
    return secrets.unwrap(wrapped, context)
  },
})

export interface KeysWorld {
  /** A process that was started now; without its own secrets engine, with the one of the test's master key. */
  process(secrets?: SecretsPort): Promise<KeysProcess>
}

export const keysWorld = async (t: TestContext): Promise<KeysWorld> => {
  const cloned = await cloneDatabase()
  const opened = new AsyncDisposableStack()
  opened.use(cloned)
  t.after(() => opened.disposeAsync())
  const log = createLog("silent")

  return {
    async process(secrets = openLocalSecrets({ masterKey: MASTER_KEY })) {
      const onError = () => undefined
      const database = opened.use(openDatabase({ connectionString: cloned.url, connectionsMax: 1, onError }))
      const changes = opened.use(await listenForChanges(cloned.url, log))
      const asked = { engine: 0, database: 0 }
      const query = database.pool.connect.bind(database.pool)
      database.pool.connect = ((...parameters: []) => {
        asked.database++
        return query(...parameters)
      }) as typeof database.pool.connect
      const tenantKeys = createTenantKeys({
        ...{ database, changes, log, clock: createTestClock() },
        secrets: counted(secrets, asked),
      })
      const box = createSecretBox({ tenantKeys, masterKey: MASTER_KEY })
      return { tenantKeys, box, database, changes, asked }
    },
  }
}

/** Rotates as the operation does, in a transaction. */
export const rotate = ({ tenantKeys, database }: KeysProcess, tenantId: string) =>
  database.transaction(tx => tenantKeys.rotate(tx, tenantId))

export const erase = ({ tenantKeys, database }: KeysProcess, tenantId: string) =>
  database.transaction(tx => tenantKeys.erase(tx, tenantId))
