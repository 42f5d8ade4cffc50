import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"

const handlers = implement(areas.integrations, () => ({}))

export const integrationsArea = defineArea({
  name: "integrations",
  title: "Integrations",
  needs: [],
  start() {
    return {
      operations: handlers(undefined),
      state: () => ({ status: "available" as const }),
    }
  },
})
