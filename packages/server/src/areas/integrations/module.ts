import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const integrations = defineModule({
  name: "integrations",
  title: "Integrations",
  contract: [areas.integrations],
  needs,
  migrations: { schema: "integrations", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: {
    queues: ["integrations.event", "integrations.poll", "integrations.polling", "integrations.prune"],
  },
  state: ({ pushes }) => ({
    status: "available",
    capabilities: { providers: ["github", "gitlab", "bitbucket", "gitea"], builds: pushes.isProvided() },
  }),
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
