import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { functionTarget } from "../domains/offers.ts"
import { needs } from "./needs.ts"
import { functionCaller } from "./offers.ts"
import { stateOf } from "./state.ts"

export const functions = defineModule({
  name: "functions",
  title: "Functions",
  contract: [areas.functions],
  needs,
  migrations: { schema: "functions", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["functions.functions"], queues: ["functions.invoke", "functions.prune"] },
  provides: [functionCaller, functionTarget],
  state: ({ runtime }) => stateOf(runtime),
  load: () => import("./area.ts"),
})
