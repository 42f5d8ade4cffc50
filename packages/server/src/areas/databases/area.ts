import { areas } from "@svc/contract"
import { createKeyedMutex } from "../../kernel/concurrency/keyed-mutex.ts"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import { hostIdOf } from "../../services/hosts/identity.ts"
import { authorityOf, isTlsRequired } from "../../services/postgres/client-port.ts"
import { type BranchHandlerNeeds, branchHandlers } from "./branch-handlers.ts"
import { createBranchServers, type OfferedServers } from "./branch-servers.ts"
import { forward } from "./client-forwarding.ts"
import { type ComputeEvents, createCompute } from "./compute.ts"
import { createCreations } from "./creations.ts"
import { type DatabaseHandlerNeeds, databaseHandlers } from "./database-handlers.ts"
import { createDirectory } from "./directory.ts"
import { createFreeing } from "./disk/freeing.ts"
import { createLimits } from "./disk/limits.ts"
import { createDiskQuota } from "./disk/quota.ts"
import { createNamesEarlierHistory } from "./earlier.ts"
import { createFacts } from "./facts.ts"
import { createFigures } from "./figures.ts"
import { createMaking } from "./making.ts"
import type { Needs } from "./needs.ts"
import { branchInsight, branchServers, databaseAccess, tableReader } from "./offers.ts"
import { createPayloads } from "./payloads.ts"
import { postgresSettings } from "./postgres-settings.ts"
import { createProvision } from "./provision.ts"
import { createSessionPools, type SessionPools } from "./sessions-pool.ts"
import { databasesState } from "./state.ts"
import { databaseStore } from "./store.ts"
import { createSwap } from "./swap.ts"
import { createSweeper } from "./sweeper.ts"
import { createTableReader } from "./table-reader.ts"
import { createTargets } from "./targets.ts"
import { createTemporaryBranches } from "./temporary-branches.ts"
import { createUsage } from "./usage.ts"

const databasesHandlers = implement(areas.databases, (needs: DatabaseHandlerNeeds & BranchHandlerNeeds) => ({
  ...databaseHandlers(needs),
  ...branchHandlers(needs),
}))

export const start = async (services: Needs) => {
  const { database, changes, clock, log, engine, box, meters, metrics, platformEvents } = services
  const postgres = postgresSettings(services)
  const { graceSeconds } = postgres
  await using opened = new AsyncDisposableStack()
  const directory = createDirectory(database.db, changes, box)
  const usage = createUsage({ database, engine, meters, log })
  const figures = createFigures(engine)
  metrics.collect(figures.families)
  const events: ComputeEvents = {
    awake(branch, at, wakeMs) {
      figures.woke(wakeMs)
      usage.awake(branch, at, wakeMs)
    },
    asleep: usage.asleep,
    async ended(branch) {
      await Promise.all([sessions.close(branch), offered.ended(branch)])
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
  const offered: OfferedServers = createBranchServers({
    clientPort: postgres,
    engine,
    directory,
    compute,
    freeing,
  })
  const creatorId = hostIdOf(services.installation.dataDir)
  const creations = opened.use(createCreations({ creatorId, database, clock, log }))
  const making = createMaking({ database, changes, engine, box, platformEvents, creations })
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
  const sweeper = opened.use(
    createSweeper({ database, changes, engine, clock, log, graceSeconds, creatorId }),
  )
  await sweeper.recover()
  const targets = createTargets({ directory, provision, store: databaseStore(database.db) })
  const port = services.ports.postgres
  if (port === undefined) throw new Error("the PostgreSQL port does not listen")
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
    operations: lifecycle,
    serves: { postgres: forward(services.postgresClients, log) },
    provides: [
      provide(databaseAccess, { targets, sessions }),
      provide(branchServers, offered.servers),
      provide(branchInsight, {
        factsOf: createFacts({ db: database.db, directory, now: clock.now }),
        withTemporaryBranch: createTemporaryBranches({ db: database.db, engine, clock, log, creations }),
      }),
      provide(tableReader, createTableReader({ directory, sessions })),
    ],
    state: () => databasesState(engine),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
