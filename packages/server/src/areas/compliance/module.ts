import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const compliance = defineModule({
  name: "compliance",
  title: "Compliance",
  contract: [areas.compliance],
  needs,
  load: () => import("./area.ts"),
})
