import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { usePrices } from "./offers.ts"
import { settings } from "./settings.ts"

export const billing = defineModule({
  name: "billing",
  title: "Billing",
  contract: [areas.billing, areas.billingPages],
  settings,
  needs,
  migrations: { schema: "billing", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  provides: [usePrices],
  wakes: { queues: ["billing.charge"] },
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
