import { box, keys, meters, platformEvents } from "../../core/tokens.ts"
import { defineService } from "../../kernel/service.ts"
import { changes, clock, database, log, stopping } from "../../kernel/tokens.ts"
import { runtime } from "../../ports/runtime/port.ts"
import { hosts } from "../hosts/token.ts"
import { images } from "../images/token.ts"
import { workloads } from "./token.ts"

export const workloadsService = defineService({
  provides: workloads,
  needs: {
    database,
    changes,
    clock,
    log,
    box,
    keys,
    meters,
    platformEvents,
    runtime,
    hosts,
    images,
    stopping,
  },
  // The code is imported with the first area that runs something, not when one is asked how it is.
  open: given => ({
    open: async policy => (await import("./workloads.ts")).openWorkloads(policy, given),
  }),
})
