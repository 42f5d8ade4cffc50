import type { Settings } from "../../kernel/setting.ts"
import { priceListFile } from "./price-list.ts"

export const settings = {
  billingPrices: {
    variable: "SVC_BILLING_PRICES",
    default: "none: the prices that `GET /v1/billing/pricing` shows",
    description:
      'JSON file of prices that differ from the built-in ones, in millionths of the currency: `{"meters": {"kv_reads": {"micros": 200000, "per": 1000000}}, "plans": {"pro": {"month_micros": 49000000, "year_micros": null}}}`. `null` for a meter charges nothing for it; for a plan, it is not sold.',
    parse: priceListFile,
  },
  billingPaymentText: {
    variable: "SVC_BILLING_PAYMENT_TEXT",
    default: "a sentence that the operator has to be asked",
    description: "How to pay, as the page of a payment shows it: an account number, for example.",
    parse: (text = "Ask the operator of this installation how to pay.") => text.slice(0, 2_000),
  },
  billingSeller: {
    variable: "SVC_BILLING_SELLER",
    default: "none",
    description: "Name and address of the seller on invoices; `|` begins a new line.",
    parse: (text = "") => text.slice(0, 1_000),
  },
  billingTermsVersion: {
    variable: "SVC_BILLING_TERMS_VERSION",
    default: "1",
    description: "Version of the terms that organizations agree to; agreements say which one it was.",
    parse: (text = "1") => {
      if (text.length > 64) throw new RangeError("must be at most 64 characters long")
      return text
    },
  },
  billingInvoicePrefix: {
    variable: "SVC_BILLING_INVOICE_PREFIX",
    default: "SVC",
    description: "Beginning of the numbers of invoices: `SVC-2026-000001`.",
    parse: (text = "SVC") => {
      if (!/^[A-Z0-9]{1,16}$/.test(text)) throw new RangeError("must be up to 16 capital letters and digits")
      return text
    },
  },
} as const satisfies Settings
