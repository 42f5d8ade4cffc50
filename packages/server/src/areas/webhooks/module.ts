import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const webhooks = defineModule({
  name: "webhooks",
  title: "Webhooks",
  contract: [areas.webhooks],
  needs,
  migrations: { schema: "webhooks", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { platformEvents: true, rowsIn: ["webhooks.webhooks"] },
  load: () => import("./area.ts"),
})
