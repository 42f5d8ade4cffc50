import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { engineState } from "../../services/postgres/state.ts"
import { needs } from "./needs.ts"

export const schema = defineModule({
  name: "schema",
  title: "Database schema",
  contract: [areas.schema],
  needs,
  state: ({ engine }) => engineState(engine),
  load: () => import("./area.ts"),
})
