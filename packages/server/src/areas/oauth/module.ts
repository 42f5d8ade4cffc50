import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { renderOAuthError } from "./render.ts"

export const oauth = defineModule({
  name: "oauth",
  title: "OAuth",
  contract: [areas.oauth],
  needs,
  migrations: { schema: "oauth", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  edge: () => ({ renderErrors: { oauth: renderOAuthError } }),
  load: () => import("./area.ts"),
})
