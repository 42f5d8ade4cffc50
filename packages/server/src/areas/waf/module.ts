import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { requestInspector } from "../../services/proxy/inspector.ts"
import { needs } from "./needs.ts"
import { settings } from "./settings.ts"

export const waf = defineModule({
  name: "waf",
  title: "Firewall",
  contract: [areas.waf],
  settings,
  needs,
  migrations: { schema: "waf", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  provides: [requestInspector],
  // Old events are removed also where no request comes any more.
  wakes: { rowsIn: ["waf.events"] },
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
