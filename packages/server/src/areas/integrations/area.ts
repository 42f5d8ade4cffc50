import { fileURLToPath } from "node:url"
import { defineArea } from "../../services.ts"
import { createAccounts } from "./accounts.ts"
import { integrationHandlers } from "./handlers.ts"
import { definePolling } from "./polling.ts"
import { defineProcessing } from "./processing.ts"
import { createHookSecrets } from "./secrets.ts"

export const integrationsArea = defineArea({
  name: "integrations",
  title: "Integrations",
  needs: ["database", "clock", "jobs", "git", "box", "outbound", "platformEvents", "pushes", "baseUrl"],
  migrations: { schema: "integrations", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start({ database, clock, jobs, git, box, outbound, platformEvents, pushes, baseUrl }) {
    const accounts = createAccounts({ git, box })
    const secrets = createHookSecrets(box)
    defineProcessing({ database, jobs, platformEvents, pushes, now: clock.now })
    definePolling({ database, jobs, accounts, clock })
    const { urlProblem } = outbound
    return {
      operations: integrationHandlers({ database, jobs, git, accounts, secrets, urlProblem, baseUrl }),
      state: () => ({
        status: "available" as const,
        capabilities: {
          providers: ["github", "gitlab", "bitbucket", "gitea"],
          builds: pushes.current() !== undefined,
        },
      }),
    }
  },
})
