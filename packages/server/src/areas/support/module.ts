import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { mailReplies } from "./offers.ts"
import { settings } from "./settings.ts"

export const support = defineModule({
  name: "support",
  title: "Support",
  contract: [areas.support],
  settings,
  needs,
  migrations: { schema: "support", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { queues: ["support.mail"] },
  provides: [mailReplies],
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
