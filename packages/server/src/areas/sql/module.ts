import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { engineState } from "../../services/postgres/state.ts"
import { needs } from "./needs.ts"
import { postgresClients, statements } from "./offers.ts"

export const sql = defineModule({
  name: "sql",
  title: "SQL",
  contract: [areas.sql],
  needs,
  wakes: {
    // Old entries are deleted by time.
    rowsIn: ["databases.query_log"],
    scheduleTargets: ["sql"],
  },
  provides: [postgresClients, statements],
  state: ({ engine }) => engineState(engine),
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
