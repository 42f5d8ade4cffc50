import { fileURLToPath } from "node:url"
import { defineService } from "../../kernel/service.ts"
import { clock, database, jobs, log } from "../../kernel/tokens.ts"
import { settings } from "./settings.ts"
import { ledger } from "./token.ts"

const EXPIRE_EVERY_MS = 60_000

export const ledgerService = defineService({
  provides: ledger,
  settings,
  needs: { database, clock, jobs, log },
  migrations: { schema: "ledger", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  queues: ["ledger.expire"],
  async open({ settings: values, database, clock, jobs, log }, { opened }) {
    const { createLedger } = await import("./ledger.ts")
    const { billingMode: mode, billingCurrency: currency, billingOverageMax: overageMax } = values
    const made = opened.use(createLedger({ db: database.db, clock, log, mode, currency, overageMax }))
    // What is posted must be stored before the database closes.
    opened.defer(() => made.settled())
    jobs.schedule({
      name: "ledger.expire",
      every: EXPIRE_EVERY_MS,
      run: async () => void (await made.expire()),
    })
    return made
  },
})
