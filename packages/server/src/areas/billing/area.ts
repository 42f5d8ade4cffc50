import { provide } from "../../kernel/token.ts"
import { createCharging } from "./charging.ts"
import { billingHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { usePrices } from "./offers.ts"
import { pageHandlers } from "./page-handlers.ts"
import { createPayments } from "./payments.ts"
import { createUsePrices } from "./usage.ts"

const CHARGE_EVERY_MS = 60_000

export const start = (given: Needs) => {
  const { settings, baseUrl, changes, deriveSecret, inProcess, isOwnOrigin } = given
  const { ledger, platformEvents, signedIn, database, clock, jobs } = given
  const issuer = {
    currency: ledger.currency,
    prefix: settings.billingInvoicePrefix,
    seller: settings.billingSeller,
  }
  const payments = createPayments({ ledger, changes, platformEvents, issuer })
  const prices = settings.billingPrices
  const charging = createCharging({ database, ledger, prices, mode: ledger.mode })
  jobs.schedule({
    name: "billing.charge",
    every: CHARGE_EVERY_MS,
    run: () => charging.run(new Date(clock.now())),
  })
  const { billingTermsVersion: termsVersion } = settings
  const csrfKey = deriveSecret("billing.checkout", "csrf")
  const { billingPaymentText: paymentText } = settings
  return {
    operations: [
      ...billingHandlers({ baseUrl, ledger, prices, payments, charging, termsVersion }),
      ...pageHandlers({ baseUrl, paymentText, csrfKey, signedIn, inProcess, isOwnOrigin }),
    ],
    provides: [provide(usePrices, createUsePrices(prices))],
  }
}
