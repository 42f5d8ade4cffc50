import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { settings } from "./settings.ts"

export const vpc = defineModule({
  name: "vpc",
  title: "Private networks",
  contract: [areas.vpc],
  settings,
  needs,
  migrations: { schema: "vpc", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["vpc.networks"] },
  state: async ({ settings }) => {
    const { engineState } = await import("./state.ts")
    return engineState(settings.vpcEngine)
  },
  load: () => import("./area.ts"),
})
