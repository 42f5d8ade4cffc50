import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { createPageErrors } from "./pages.ts"
import { createOAuthErrors } from "./render.ts"

export const oauth = defineModule({
  name: "oauth",
  title: "OAuth",
  contract: [areas.oauth, areas.oauthPages, areas.connectedApps],
  needs,
  migrations: { schema: "oauth", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { queues: ["oauth.prune"] },
  edge: ({ baseUrl }) => {
    const page = createPageErrors(baseUrl)
    return { renderErrors: { oauth: createOAuthErrors(page), page } }
  },
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
