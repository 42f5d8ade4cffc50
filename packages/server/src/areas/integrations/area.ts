import { createAccounts } from "./accounts.ts"
import { integrationHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { definePolling } from "./polling.ts"
import { defineProcessing } from "./processing.ts"
import { createHookSecrets } from "./secrets.ts"

export const start = ({
  database,
  clock,
  jobs,
  git,
  box,
  outbound,
  platformEvents,
  pushes,
  baseUrl,
}: Needs) => {
  const accounts = createAccounts({ git, box })
  const secrets = createHookSecrets(box)
  defineProcessing({ database, jobs, platformEvents, pushes, now: clock.now })
  definePolling({ database, jobs, accounts, clock })
  const { urlProblem } = outbound
  return {
    operations: integrationHandlers({ database, jobs, git, accounts, secrets, urlProblem, baseUrl }),
  }
}
