import { areas } from "@svc/contract"
import { engineState } from "../../core/postgres/state.ts"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const schema = defineModule({
  name: "schema",
  title: "Database schema",
  contract: [areas.schema],
  needs,
  state: ({ engine }) => engineState(engine),
  load: () => import("./area.ts"),
})
