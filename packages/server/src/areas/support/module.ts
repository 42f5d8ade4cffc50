import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../services.ts"
import { needs } from "./needs.ts"

export const support = defineModule({
  name: "support",
  title: "Support",
  contract: [areas.support],
  needs,
  migrations: { schema: "support", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { queues: ["support.mail"] },
  provides: ["mailReplies"],
  load: () => import("./area.ts"),
})
