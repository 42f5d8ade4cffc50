import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"

const handlers = implement(areas.email, () => ({}))

export const emailArea = defineArea({
  name: "email",
  title: "Email",
  needs: [],
  migrations: {
    schema: "email",
    folder: fileURLToPath(new URL("migrations", import.meta.url)),
  },
  start() {
    return {
      operations: handlers(undefined),
      state: () => ({ status: "available" as const }),
    }
  },
})
