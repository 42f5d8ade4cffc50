import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { loadBalancerTarget } from "../domains/offers.ts"
import { needs } from "./needs.ts"
import { loadBalancers } from "./offers.ts"
import { lbUrlsOf, settings } from "./settings.ts"

export const lb = defineModule({
  name: "lb",
  title: "Load balancers",
  contract: [areas.lb],
  settings,
  needs,
  migrations: { schema: "lb", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  provides: [loadBalancers, loadBalancerTarget],
  // Backends are checked, and ports listened on, before the first request.
  wakes: { rowsIn: ["lb.load_balancers"] },
  edge({ settings, baseUrl }) {
    const urls = lbUrlsOf(settings, baseUrl)
    return { claims: ({ headers }) => urls?.claims(headers.host) === true }
  },
  state: ({ settings, baseUrl }) =>
    lbUrlsOf(settings, baseUrl) || settings.lbPorts
      ? { status: "available" }
      : { status: "not_configured", reason: "no domain leads to load balancers", setting: "SVC_LB_DOMAIN" },
  load: () => import("./area.ts"),
})
