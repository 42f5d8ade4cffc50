import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { hostFigures, runtimeState } from "../../services/workloads/state.ts"
import { needs } from "./needs.ts"
import { portUrlsOf, settings } from "./settings.ts"

export const sandboxes = defineModule({
  name: "sandboxes",
  title: "Sandboxes",
  contract: [areas.sandboxes],
  settings,
  needs,
  migrations: { schema: "sandboxes", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["sandboxes.sandboxes"], queues: ["sandboxes.prune"] },
  edge({ settings, ...given }) {
    const urls = portUrlsOf(settings, given)
    return { claims: ({ headers }) => urls?.claims(headers.host) === true }
  },
  state: ({ runtime, hosts }) => runtimeState(runtime, { running: 0, warm: 0, host: hostFigures(hosts) }),
  load: () => import("./area.ts"),
})
