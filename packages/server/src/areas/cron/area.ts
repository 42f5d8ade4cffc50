import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"

const handlers = implement(areas.cron, () => ({}))

export const cronArea = defineArea({
  name: "cron",
  title: "Cron",
  needs: [],
  start() {
    return {
      operations: handlers(undefined),
      state: () => ({ status: "available" as const }),
    }
  },
})
