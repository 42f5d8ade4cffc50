import { areas } from "@svc/contract"
import { createUpstream } from "@svc/text-to-sql"
import { createTenants } from "../../core/organizations/tenants.ts"
import type { AreaState } from "../../kernel/area.ts"
import { createKeyedMutex } from "../../kernel/concurrency/keyed-mutex.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import type { EnginePort, VolumeState } from "../../ports/engine/port.ts"
import { adviceHandlers } from "../advice/handlers.ts"
import { nlToSqlHandler } from "../advice/nl-to-sql/handler.ts"
import { createQuestions } from "../advice/nl-to-sql/questions.ts"
import { type BranchHandlerNeeds, branchHandlers } from "./branch-handlers.ts"
import { type ComputeEvents, createCompute } from "./compute.ts"
import { type DatabaseHandlerNeeds, databaseHandlers } from "./database-handlers.ts"
import { createDirectory, type Directory } from "./directory.ts"
import { createFreeing, type Freeing } from "./disk/freeing.ts"
import { createLimits } from "./disk/limits.ts"
import { createDiskQuota } from "./disk/quota.ts"
import { authorityOf, isTlsRequired, openDoor } from "../sql/wire-access.ts"
import { createNamesEarlierHistory } from "./earlier.ts"
import { createFacts } from "./facts.ts"
import { createFigures } from "./figures.ts"
import { createMaking } from "./making.ts"
import type { Needs } from "./needs.ts"
import { databaseAccess, type Targets, tableReader } from "./offers.ts"
import { createPayloads } from "./payloads.ts"
import { chatModelSettings, postgresSettings } from "./postgres-settings.ts"
import { createProvision } from "./provision.ts"
import { createScheduledStatements } from "../sql/scheduled-statements.ts"
import { createSessionPools, type SessionPools } from "./sessions-pool.ts"
import { createGuard } from "../sql/guard.ts"
import { type SqlHandlerNeeds, sqlHandlers } from "../sql/handlers.ts"
import { createLoginSessions, type LoginSessions } from "../sql/login-sessions.ts"
import { createTypeCatalog } from "../sql/pg-types.ts"
import { createQueryLog } from "../sql/query-log.ts"
import { databaseStore } from "./store.ts"
import { createSwap } from "./swap.ts"
import { createSweeper } from "./sweeper.ts"
import { createTableReader } from "./table-reader.ts"
import { createTargets } from "./targets.ts"
import { createThrowaway } from "./temporary-branches.ts"
import { createUsage } from "./usage.ts"
import type { Wire } from "../sql/wire/wire.ts"

const databasesHandlers = implement(areas.databases, (needs: DatabaseHandlerNeeds & BranchHandlerNeeds) => ({
  ...databaseHandlers(needs),
  ...branchHandlers(needs),
}))

interface StatementsNeeds extends Pick<SqlHandlerNeeds, "logins" | "tunnel"> {
  readonly freeing: Freeing
  readonly targets: Targets
  readonly directory: Directory
  readonly sessions: SessionPools
}

/** What answers questions to databases, in SQL or about them. */
const openStatements = (
  services: Needs,
  { targets, directory, sessions, logins, tunnel, freeing }: StatementsNeeds,
  opened: AsyncDisposableStack,
) => {
  const { database, clock, log, engine, scheduleTargets, settings } = services
  const ai = chatModelSettings(services)
  const { db } = database
  const queryLog = opened.use(createQueryLog({ db, clock, log }))
  const guard = opened.use(createGuard())
  const types = createTypeCatalog()
  scheduleTargets.provide("sql", createScheduledStatements({ sessions, guard, types, directory }))
  const questions = createQuestions({
    guard,
    upstream: ai && createUpstream(ai),
    limitMs: settings.textToSqlMs,
  })
  const operations = [
    ...sqlHandlers({ targets, sessions, freeing, queryLog, guard, types, logins, tunnel }),
    ...adviceHandlers({
      ...{ targets, sessions },
      withThrowawayBranch: createThrowaway({ db, engine, clock, log }),
      facts: createFacts({ db, directory, now: clock.now }),
      naturalLanguageToSql: nlToSqlHandler({ targets, sessions, questions }),
    }),
  ]
  return { operations, queryLog }
}

export const start = async (services: Needs) => {
  const { database, changes, clock, log, engine, box, meters, metrics, platformEvents } = services
  const postgres = postgresSettings(services)
  const { graceSeconds } = postgres
  await using opened = new AsyncDisposableStack()
  const directory = createDirectory(database.db, changes, box)
  const usage = createUsage({ database, engine, meters, log })
  const figures = createFigures(engine)
  metrics.collect(figures.families)
  let wire: Wire | undefined
  const events: ComputeEvents = {
    awake(branch, at, wakeMs) {
      figures.woke(wakeMs)
      usage.awake(branch, at, wakeMs)
    },
    asleep: usage.asleep,
    async ended(branch) {
      wire?.disconnect(branch.branchId)
      await Promise.all([sessions.close(branch), logins.close(branch)])
    },
  }
  const { isActive } = usage
  const compute = opened.use(
    createCompute({ engine, clock, log, isActive, branchOf: directory.findByVolume, events }),
  )
  const sessions: SessionPools = opened.use(createSessionPools({ engine, directory, compute, log }))
  const limitsOf = createLimits(postgres.diskBytesMax)
  const quota = opened.use(
    createDiskQuota({
      database,
      changes,
      engine,
      directory,
      compute,
      platformEvents,
      clock,
      log,
      limitsOf,
    }),
  )
  const freeing = createFreeing({ database, engine, directory, compute, quota, log })
  const tenants = createTenants(database.db, changes)
  const logins: LoginSessions = opened.use(createLoginSessions({ directory, compute, log, tenants }))
  const making = createMaking({ database, changes, engine, box, platformEvents })
  const namesEarlierHistory = createNamesEarlierHistory({ database, engine })
  const mutex = createKeyedMutex()
  const swap = createSwap({
    database,
    changes,
    engine,
    box,
    compute,
    directory,
    making,
    namesEarlierHistory,
    mutex,
    log,
  })
  const provision = createProvision({ database, making })
  const sweeper = opened.use(createSweeper({ database, changes, engine, clock, log, graceSeconds }))
  await sweeper.recover()
  const targets = createTargets({ directory, provision, store: databaseStore(database.db) })
  const tunnel = async (address: string) => {
    if (!wire) throw fault("service_unavailable", { reason: "the server is starting" })
    return wire.tunnel(address)
  }
  const statements = openStatements(
    services,
    { targets, directory, sessions, logins, tunnel, freeing },
    opened,
  )
  const calls = statements.queryLog.recordWire
  wire = opened.use(await openDoor({ settings: postgres, engine, directory, compute, log, calls }))
  const { port } = wire
  const payloads = createPayloads({
    address: () => ({
      host: postgres.host,
      port,
      tlsRequired: isTlsRequired(postgres),
      hasPooler: engine.capabilities.verifiers,
    }),
    stateOf: compute.stateOf,
    limitsOf,
  })
  const lifecycle = databasesHandlers({
    ...{
      engine,
      changes,
      box,
      platformEvents,
      compute,
      directory,
      making,
      namesEarlierHistory,
      provision,
      swap,
      mutex,
      sessions,
      payloads,
    },
    graceSeconds,
    authority: () => authorityOf(postgres),
  })

  const resources = opened.move()
  return {
    operations: [...lifecycle, ...statements.operations],
    provides: [
      provide(databaseAccess, { targets, sessions }),
      provide(tableReader, createTableReader({ directory, sessions })),
    ],
    state: () => stateOf(engine),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const stateOf = async (engine: EnginePort): Promise<AreaState> => {
  const health = await engine.health()
  const running = engine.running()
  const count = (state: VolumeState) => running.filter(instance => instance.state === state).length
  const instances = {
    active: count("active"),
    starting: count("starting"),
    stopping: count("stopping"),
    unprotected: running.filter(({ protection }) => protection === "asynchronous").length,
  }
  const { verifiers, readOnlyVolumes, ...offered } = engine.capabilities
  const capabilities = {
    ...offered,
    // Both answer a login themselves, by what the server keeps of the password.
    pooler: verifiers,
    channel_binding: verifiers,
    disk_quota: readOnlyVolumes,
    instances,
  }
  if (health.ok) return { status: "available", capabilities }
  return { status: "degraded", reason: "the database engine does not respond", capabilities }
}
