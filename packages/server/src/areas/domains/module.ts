import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { settings } from "./settings.ts"

export const domains = defineModule({
  name: "domains",
  title: "Domains",
  contract: [areas.domains],
  settings,
  needs,
  migrations: { schema: "domains", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  // Requests for them come without a call.
  wakes: { rowsIn: ["domains.domains"], queues: ["domains.verify", "domains.certificate"] },
  listeners: {
    tls: {
      speaks: "HTTPS",
      setting: "SVC_TLS_PORT",
      address: ({ settings: { tlsPort }, installation: { host } }) =>
        tlsPort === undefined || tlsPort === "off" ? undefined : { host, port: tlsPort },
    },
  },
  edge: () => ({ asksGate: true }),
  load: () => import("./area.ts"),
})
