import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { endUserTokens } from "../../core/tokens.ts"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const auth = defineModule({
  name: "auth",
  title: "End-user auth",
  contract: [areas.auth],
  needs,
  migrations: { schema: "auth", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { queues: ["auth.mail", "auth.prune"] },
  provides: [endUserTokens],
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
