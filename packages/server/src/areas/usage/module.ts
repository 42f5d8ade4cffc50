import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const usage = defineModule({
  name: "usage",
  title: "Usage",
  contract: [areas.usage],
  needs,
  load: () => import("./area.ts"),
})
