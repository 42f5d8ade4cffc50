import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { deploymentTarget } from "../domains/offers.ts"
import { needs } from "./needs.ts"
import { deploymentUrlsOf, settings } from "./settings.ts"
import { stateOf } from "./state.ts"

export const deployments = defineModule({
  name: "deployments",
  title: "Deployments",
  contract: [areas.deployments],
  settings,
  needs,
  migrations: { schema: "deployments", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["deployments.deployments"], queues: ["deployments.prune"] },
  provides: [deploymentTarget],
  edge({ settings, baseUrl }) {
    const urls = deploymentUrlsOf(settings, baseUrl)
    return { claims: ({ headers }) => urls?.claims(headers.host) === true }
  },
  state: ({ runtime }) => stateOf(runtime),
  load: () => import("./area.ts"),
})
