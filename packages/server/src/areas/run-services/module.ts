import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { runServiceTarget } from "../domains/offers.ts"
import { needs } from "./needs.ts"
import { serviceUrlsOf, settings } from "./settings.ts"
import { stateOf } from "./state.ts"

export const run = defineModule({
  name: "run-services",
  title: "Run services",
  contract: [areas.run],
  settings,
  needs,
  migrations: { schema: "run_services", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["run_services.services"], queues: ["run.deploy", "run.prune"] },
  provides: [runServiceTarget],
  edge({ settings, baseUrl }) {
    const urls = serviceUrlsOf(settings, baseUrl)
    return { claims: ({ headers }) => urls?.claims(headers.host) === true }
  },
  state: ({ runtime, settings, baseUrl }) => stateOf(runtime, serviceUrlsOf(settings, baseUrl)),
  load: () => import("./area.ts"),
})
