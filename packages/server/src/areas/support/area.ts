import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"

const handlers = implement(areas.support, () => ({}))

export const supportArea = defineArea({
  name: "support",
  title: "Support",
  needs: [],
  start() {
    return {
      operations: handlers(undefined),
      state: () => ({ status: "available" as const }),
    }
  },
})
