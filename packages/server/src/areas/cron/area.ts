import { defineExecutor } from "./executor.ts"
import { createFunctionTarget } from "./function-target.ts"
import { cronHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { PRUNE_EVERY_MS, pruneExecutions } from "./pruning.ts"
import { createCronScanner } from "./scanner.ts"

export const start = (services: Needs) => {
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
    [Symbol.asyncDispose]: () => scanner[Symbol.asyncDispose](),
  }
}
