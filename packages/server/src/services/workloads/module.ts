import { defineService } from "../../kernel/service.ts"
import { needs } from "./needs.ts"
import { workloads } from "./token.ts"

export const workloadsService = defineService({
  provides: workloads,
  needs,
  // The code is imported with the first area that runs something, not when one is asked how it is.
  open: given => ({
    open: async policy => (await import("./workloads.ts")).openWorkloads(policy, given),
  }),
})
