import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { hostFigures, runtimeState } from "../../core/workloads/state.ts"
import { defineModule } from "../../services.ts"
import { needs } from "./needs.ts"

export const sandboxes = defineModule({
  name: "sandboxes",
  title: "Sandboxes",
  contract: [areas.sandboxes],
  needs,
  migrations: { schema: "sandboxes", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["sandboxes.sandboxes"], queues: ["sandboxes.prune"] },
  edge: ({ portUrls }) => ({ claims: ({ headers }) => portUrls?.claims(headers.host) === true }),
  state: ({ runtime, hosts }) => runtimeState(runtime, { running: 0, warm: 0, host: hostFigures(hosts) }),
  load: () => import("./area.ts"),
})
