import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"

const handlers = implement(areas.webhooks, () => ({}) as never)

export const webhooksArea = defineArea({
  name: "webhooks",
  title: "Webhooks",
  needs: [],
  migrations: { schema: "webhooks", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start() {
    return {
      operations: handlers(undefined),
      state: () => ({ status: "available" as const }),
    }
  },
})
