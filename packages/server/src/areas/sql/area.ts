import { createTenants } from "../../core/organizations/tenants.ts"
import { provided } from "../../kernel/offer.ts"
import { provide } from "../../kernel/token.ts"
import { engineState } from "../../services/postgres/state.ts"
import { createGuard } from "./guard.ts"
import { sqlHandlers } from "./handlers.ts"
import { createLoginSessions } from "./login-sessions.ts"
import type { Needs } from "./needs.ts"
import { postgresClients, statements } from "./offers.ts"
import { createTypeCatalog } from "./pg-types.ts"
import { createQueryLog } from "./query-log.ts"
import { createScheduledStatements } from "./scheduled-statements.ts"
import { createStatementLog } from "./statement-histories.ts"
import { createStatementReader } from "./statement-reader.ts"
import { openWireAccess } from "./wire-access.ts"

export const start = async (needs: Needs) => {
  const { database, changes, clock, log, engine, scheduleTargets } = needs
  const { targets, sessions } = await provided(needs.databaseAccess)
  const servers = await provided(needs.branchServers)
  const { db } = database
  await using opened = new AsyncDisposableStack()
  const queryLog = opened.use(createQueryLog({ db, clock, log }))
  const guard = opened.use(createGuard())
  const types = createTypeCatalog()
  const tenants = createTenants(db, changes)
  const logins = opened.use(createLoginSessions({ servers, log, tenants }))
  const wire = opened.use(openWireAccess({ servers, log, calls: queryLog.recordWire }))
  opened.use(
    servers.onEnded(branch => {
      wire.disconnect(branch.branchId)
      return logins.close(branch)
    }),
  )
  scheduleTargets.provide("sql", createScheduledStatements({ sessions, guard, types, servers }))
  const { tunnel } = wire
  const operations = sqlHandlers({ targets, sessions, servers, queryLog, guard, types, logins, tunnel })

  const resources = opened.move()
  return {
    operations,
    provides: [
      provide(postgresClients, wire.accept),
      provide(statements, { ...createStatementReader({ guard, types }), ...createStatementLog(db) }),
    ],
    state: () => engineState(engine),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
