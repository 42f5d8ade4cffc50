import { fileURLToPath } from "node:url"
import { defineArea } from "../../services.ts"
import { defineExecutor } from "./executor.ts"
import { createFunctionTarget } from "./function-target.ts"
import { cronHandlers } from "./handlers.ts"
import { PRUNE_EVERY_MS, pruneExecutions } from "./pruning.ts"
import { createCronScanner } from "./scanner.ts"

export const cronArea = defineArea({
  name: "cron",
  title: "Cron",
  needs: [
    "database",
    "changes",
    "clock",
    "log",
    "jobs",
    "outbound",
    "box",
    "platformEvents",
    "scheduleTargets",
    "retryDelayFactor",
    "functions",
  ],
  migrations: { schema: "cron", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start(services) {
    const { database, clock, jobs } = services
    services.scheduleTargets.provide("function", createFunctionTarget(services.functions))
    defineExecutor(services)
    jobs.schedule({
      name: "cron.prune",
      every: PRUNE_EVERY_MS,
      run: () => pruneExecutions(database.db, clock.now()),
    })
    const scanner = createCronScanner(services)
    return {
      operations: cronHandlers({ ...services, expect: scanner.expect }),
      state: () => ({ status: "available" as const }),
      [Symbol.asyncDispose]: () => scanner[Symbol.asyncDispose](),
    }
  },
})
