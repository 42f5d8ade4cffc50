import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"
import { type BranchHandlerNeeds, branchHandlers } from "./branch-handlers.ts"
import { createCompute } from "./compute.ts"
import { type DatabaseHandlerNeeds, databaseHandlers } from "./database-handlers.ts"
import { createDirectory } from "./directory.ts"
import { openDoor } from "./door.ts"
import { createFigures } from "./figures.ts"
import { createMaking } from "./making.ts"
import { createPayloads } from "./payloads.ts"
import { createProvision } from "./provision.ts"
import { schemaHandlers } from "./schema/handlers.ts"
import { createSessionPools, type SessionPools } from "./sessions-pool.ts"
import { createSwap } from "./swap.ts"
import { createSweeper } from "./sweeper.ts"
import { createTargets } from "./targets.ts"
import { createUsage } from "./usage.ts"
import type { Wire } from "./wire/wire.ts"

const databasesHandlers = implement(areas.databases, (needs: DatabaseHandlerNeeds & BranchHandlerNeeds) => ({
  ...databaseHandlers(needs),
  ...branchHandlers(needs),
}))

export const databasesArea = defineArea({
  name: "databases",
  title: "Databases",
  needs: ["database", "changes", "clock", "log", "engine", "box", "meters", "metrics", "postgres"],
  migrations: { schema: "databases", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  async start({ database, changes, clock, log, engine, box, meters, metrics, postgres }) {
    await using opened = new AsyncDisposableStack()
    const { graceSeconds } = postgres
    const directory = createDirectory(database.db, changes, box)
    const usage = createUsage({ database, engine, meters, log })
    const figures = createFigures(engine)
    metrics.collect(figures.families)
    let wire: Wire | undefined
    const compute = opened.use(
      createCompute({
        ...{ engine, clock, log },
        isActive: usage.isActive,
        branchOf: directory.findByVolume,
        events: {
          awake(branch, at, wakeMs) {
            figures.woke(wakeMs)
            usage.awake(branch, at, wakeMs)
          },
          asleep: usage.asleep,
          async ended(branch) {
            wire?.disconnect(branch.branchId)
            await pools.close(branch)
          },
        },
      }),
    )
    const pools: SessionPools = opened.use(createSessionPools({ directory, compute, log }))
    const making = createMaking({ database, changes, engine, box })
    const swap = createSwap({ database, changes, engine, box, compute, making })
    const provision = createProvision({ database, making })
    const targets = createTargets({ directory, provision })
    const sweeper = opened.use(createSweeper({ database, changes, engine, clock, log, graceSeconds }))
    await sweeper.recover()
    const door = opened.use(
      await openDoor({ settings: postgres, directory, compute, log, calls: () => undefined }),
    )
    wire = door
    const payloads = createPayloads({
      address: () => ({ host: postgres.host, port: door.port }),
      stateOf: compute.stateOf,
    })
    const needs = {
      engine,
      changes,
      box,
      compute,
      directory,
      making,
      provision,
      swap,
      payloads,
      graceSeconds,
    }

    const resources = opened.move()
    return {
      operations: [
        ...databasesHandlers({ ...needs, sessions: pools }),
        ...schemaHandlers({ targets, sessions: pools, clock }),
      ],
      async state() {
        const health = await engine.health()
        const running = engine.running()
        const capabilities = {
          ...engine.capabilities,
          instances: {
            active: running.filter(({ state }) => state === "active").length,
            starting: running.filter(({ state }) => state === "starting").length,
            stopping: running.filter(({ state }) => state === "stopping").length,
          },
        }
        if (health.ok) return { status: "available", capabilities }
        return { status: "degraded", reason: "the database engine does not answer", capabilities }
      },
      [Symbol.asyncDispose]: () => resources.disposeAsync(),
    }
  },
})
