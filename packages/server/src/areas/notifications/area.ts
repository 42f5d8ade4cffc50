import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"

const handlers = implement(areas.notifications, () => ({}))

export const notificationsArea = defineArea({
  name: "notifications",
  title: "Notifications",
  needs: [],
  start() {
    return {
      operations: handlers(undefined),
      state: () => ({ status: "available" as const }),
    }
  },
})
