import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { engineState } from "../../services/postgres/state.ts"
import { needs } from "./needs.ts"
import { settings } from "./settings.ts"

export const advice = defineModule({
  name: "advice",
  title: "Database advice",
  contract: [areas.advice],
  settings,
  needs,
  state: ({ engine }) => engineState(engine),
  load: () => import("./area.ts"),
})
