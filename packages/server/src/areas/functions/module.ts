import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../services.ts"
import { needs } from "./needs.ts"
import { stateOf } from "./state.ts"

export const functions = defineModule({
  name: "functions",
  title: "Functions",
  contract: [areas.functions],
  needs,
  migrations: { schema: "functions", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["functions.functions"], queues: ["functions.invoke", "functions.prune"] },
  provides: ["functions"],
  state: ({ runtime }) => stateOf(runtime),
  load: () => import("./area.ts"),
})
