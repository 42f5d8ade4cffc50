/** From settings to what everything stands on: the control database, the master key, news between processes, and mail. */

import { installationOf } from "./config.ts"
import { checkMasterKey } from "./core/secrets/fingerprint.ts"
import { loadMasterKey } from "./core/secrets/master-key.ts"
import { createServices } from "./core/services.ts"
import { listenForChanges } from "./kernel/db/changes.ts"
import { openDatabase } from "./kernel/db/database.ts"
import type { DataDirLock } from "./kernel/db/embedded/lock.ts"
import { startEmbeddedPostgres } from "./kernel/db/embedded/start.ts"
import { superviseEmbeddedPostgres } from "./kernel/db/embedded/supervise.ts"
import { checkExternalDatabase } from "./kernel/db/external.ts"
import { createDatabaseFanout } from "./kernel/db/fanout.ts"
import { migrate } from "./kernel/db/migrate.ts"
import { createGuardedSockets } from "./kernel/outbound/sockets.ts"
import { supply } from "./kernel/token.ts"
import * as tokens from "./kernel/tokens.ts"
import { migrationSources } from "./migration-sources.ts"
import { services as serviceModules } from "./modules.ts"
import { fanoutPort } from "./ports/fanout/port.ts"
import { mails as mailsToken } from "./ports/mail/port.ts"
import { secrets as secretsToken } from "./ports/secrets/port.ts"
import type { Start } from "./start.ts"

/** Like `Promise.all`, but waits for every one: what did open must be known before it can be closed again. */
const allOf = async <Promises extends readonly unknown[] | []>(promises: Promises) => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/** The control database: the operator's, or one that lives and dies with this process. */
const openControlDatabase = async ({ config, log, opened }: Start, lock: DataDirLock): Promise<string> => {
  if (config.databaseUrl !== undefined) return config.databaseUrl
  const start = () =>
    startEmbeddedPostgres({
      dataDir: config.dataDir,
      lock,
      runAs: config.runAs,
      log: line => log.debug({ postgres: line }),
    })
  const postgres = opened.use(await superviseEmbeddedPostgres(start, log))
  return postgres.connectionString
}

/** Opens what everything else stands on, and brings the control database up to date. */
export const openEngines = async (start: Start, lock: DataDirLock) => {
  const { config, clock, log, modules, opened } = start
  const [connectionString, masterKey] = await allOf([
    openControlDatabase(start, lock),
    loadMasterKey(config.dataDir, config.masterKey, config.masterKeyFile),
  ])
  const onError = (error: Error) => log.warn({ reason: error.message }, "control database connection failed")
  const { databaseConnectionsMax: connectionsMax } = config
  const database = opened.use(openDatabase({ connectionString, connectionsMax, onError }))
  const keysDatabase = opened.use(openDatabase({ connectionString, connectionsMax: 1, onError }))
  if (config.databaseUrl !== undefined) await checkExternalDatabase(database)
  const [changes] = await allOf([
    listenForChanges(connectionString, log).then(changes => opened.use(changes)),
    migrate(database.pool, migrationSources(modules)),
  ])
  await checkMasterKey(database.db, masterKey)
  const services = opened.use(createServices({ modules: serviceModules, settingsOf: config.of }))
  const sockets = opened.use(createGuardedSockets(config))
  services.supply([
    supply(tokens.installation, installationOf(config)),
    supply(tokens.clock, clock),
    supply(tokens.log, log),
    supply(tokens.database, database),
    supply(tokens.changes, changes),
    supply(tokens.masterKey, masterKey),
    supply(tokens.sockets, sockets),
    ...start.supplies,
  ])
  const [secrets, mails, carrier] = await allOf([
    services.open(secretsToken),
    services.open(mailsToken),
    services.open(fanoutPort),
  ])
  const fanout = carrier ?? createDatabaseFanout(database.db, changes)
  return { database, keysDatabase, changes, fanout, masterKey, secrets, mails, services }
}

export type Engines = Awaited<ReturnType<typeof openEngines>>
