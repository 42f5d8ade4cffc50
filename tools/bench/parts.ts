/** What is measured on the running platform, by the names that `npm run bench -- NAME…` chooses from; all unless told. */
import { aiFigures } from "./ai.ts"
import { cronFigures } from "./cron.ts"
import { databaseFigures } from "./databases.ts"
import { emailFigures } from "./email.ts"
import { eventFigures } from "./events.ts"
import type { Part } from "./figures.ts"
import { firewallFigures } from "./firewall.ts"
import { functionFigures } from "./functions.ts"
import { jobFigures } from "./jobs.ts"
import { ledgerFigures } from "./ledger.ts"
import { runtimeFigures } from "./runtime.ts"
import { sandboxFigures } from "./sandboxes.ts"
import { searchFigures } from "./search.ts"
import { sqlFigures } from "./sql.ts"
import { storageFigures } from "./storage.ts"
import { vectorFigures } from "./vectors.ts"

export const parts: Readonly<Record<string, Part>> = {
  databases: databaseFigures,
  sql: sqlFigures,
  storage: storageFigures,
  vectors: vectorFigures,
  runtime: runtimeFigures,
  search: searchFigures,
  jobs: jobFigures,
  ledger: ledgerFigures,
  cron: cronFigures,
  functions: functionFigures,
  sandboxes: sandboxFigures,
  events: eventFigures,
  email: emailFigures,
  ai: aiFigures,
  firewall: firewallFigures,
}
