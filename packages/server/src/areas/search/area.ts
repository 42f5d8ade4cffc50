import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"

const handlers = implement(areas.search, (): never => {
  throw new Error("x")
})

export const searchArea = defineArea({
  name: "search",
  title: "Search",
  needs: [],
  migrations: { schema: "search", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start() {
    return {
      operations: [],
      state: () => ({ status: "available" as const }),
    }
  },
})
