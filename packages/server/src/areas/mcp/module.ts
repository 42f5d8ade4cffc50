import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const mcp = defineModule({
  name: "mcp",
  title: "MCP",
  contract: [areas.mcp],
  needs,
  load: () => import("./area.ts"),
})
