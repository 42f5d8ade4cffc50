/** Schemas of billing. */
import { T } from "./dsl.ts"
import { Plan } from "./identity.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

/** Largest amount of one payment or grant, in millionths of the currency. */
export const BILLING_AMOUNT_MICROS_MAX = 1_000_000_000_000
/** Smallest amount of one payment: a cent. */
export const BILLING_AMOUNT_MICROS_MIN = 10_000
/** How long a checkout can be paid. */
export const CHECKOUT_DAYS = 7

export const TRANSFER_TYPES = [
  "grant",
  "purchase",
  "charge",
  "overage",
  "overage_payment",
  "sale",
  "expiry",
] as const
export type TransferType = (typeof TRANSFER_TYPES)[number]

const ACCOUNTS = ["cash", "grants", "credit", "overage", "revenue", "expired"] as const
export const INVOICE_STATUSES = ["draft", "open", "paid", "uncollectible", "void"] as const
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number]
export const PAYMENT_STATUSES = ["open", "complete", "expired"] as const
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number]

const micros = (description: string) =>
  T.Integer({ description: `${description}, in millionths of the currency` })
export const Micros = micros
export const AmountMicros = T.Integer({
  minimum: BILLING_AMOUNT_MICROS_MIN,
  maximum: BILLING_AMOUNT_MICROS_MAX,
  description: "Amount in millionths of the currency: 1000000 is one dollar where it is USD",
})
export const Currency = T.String({ description: "ISO 4217 code" })
export const TenantParam = T.Object({ tenant_id: Id })
export const ReturnUrl = (when: string) =>
  T.Optional(
    T.String({
      maxLength: 2048,
      pattern: "^https?://[^\\s\"'<>\\u0000-\\u001f\\u007f]+$",
      description: `Where the page leads ${when}`,
    }),
  )

export const Period = T.Object({ start: Time, end: Time }, { description: "A calendar month in UTC" })

export const CreditBalance = T.Object({
  tenant_id: Id,
  billing_mode: OneOf(["credit", "legacy"], {
    description:
      "`credit`: use is paid from credit, and refused without it; `legacy`: use is measured and never refused for want of credit",
  }),
  currency: Currency,
  available_micros: micros("Credit that can be spent now"),
  ledger_micros: micros("Credit, with what is held for things that are under way"),
  reserved_micros: micros("Credit that is held for things that are under way"),
  granted_micros: micros("All that the operator ever gave"),
  purchased_micros: micros("All that was ever bought"),
  overage_enabled: T.Boolean({ description: "Whether use goes on when the credit is used up" }),
  overage_micros: micros("What is owed beyond the credit"),
  next_expiry: Nullable(T.Object({ at: Time, amount_micros: micros("What expires then") }), {
    description: "The credit that expires next; null where none does",
  }),
  updated_at: Nullable(Time, { description: "When it changed last; null where there never was any credit" }),
})

export const CreditEntry = T.Object({
  id: Id,
  kind: OneOf(["grant", "purchase", "deduction", "overage", "overage_payment", "expiry"], {
    description:
      "`deduction`: use was charged; `overage`: use was charged beyond the credit; `overage_payment`: what was owed was paid",
  }),
  amount_micros: micros("How much"),
  balance_after_micros: micros("The credit afterwards"),
  description: T.String(),
  created_at: Time,
  expires_at: Nullable(Time, { description: "When what was added expires; null where it does not" }),
})

export const CreditTransaction = T.Object({
  id: Id,
  type: OneOf(["credit", "debit"], { description: "Whether the credit grew or shrank" }),
  amount_micros: micros("How much"),
  reference: T.String({ description: "What it was for; the same reference moves money once" }),
  effective_at: Time,
  created_at: Time,
})

export const LedgerEntry = T.Object({
  id: Id,
  sequence: T.Integer({ description: "Counts from 1 without gaps" }),
  type: OneOf(TRANSFER_TYPES, { description: "What kind of transfer it is" }),
  debit_account: OneOf(ACCOUNTS, { description: "Account that the amount was taken from" }),
  credit_account: OneOf(ACCOUNTS, { description: "Account that the amount was given to" }),
  amount_micros: micros("Amount"),
  balance_after_micros: micros("Balance of `credit` afterwards"),
  source: T.Object(
    {
      type: T.String({ description: "What moved it, such as `payment`, `grant`, `usage` or `ai`" }),
      id: T.String({ description: "Which one" }),
    },
    { description: "What moved the money" },
  ),
  description: T.String(),
  created_at: Time,
})

export const MetricCost = T.Object({
  metric: T.String({ description: "Meter" }),
  service: T.String({ description: "Service that is metered" }),
  unit: T.String({ description: "What is counted" }),
  quantity: T.Number({ description: "Units used" }),
  included: Nullable(T.Number(), { description: "Units that the plan includes; null: all of them" }),
  overage: T.Number({ description: "Units beyond those, which are charged" }),
  unit_price_micros: micros("Price of `per` units"),
  per: T.Integer({ description: "Units that the price is for" }),
  cost_micros: micros("What the month costs so far"),
})

export const CatalogEntry = T.Object({
  service: T.String({ description: "Service that is metered" }),
  metric: T.String({ description: "Meter" }),
  unit: T.String({ description: "What is counted" }),
  unit_price_micros: micros("Price of `per` units"),
  per: T.Integer({ description: "Units that the price is for" }),
  included: Nullable(T.Number(), {
    description: "Units of a month that the plan includes; null: all of them",
  }),
})

export const PriceEntry = T.Object({
  service: T.String({ description: "Service that is metered" }),
  metric: T.String({ description: "Meter" }),
  unit: T.String({ description: "What is counted" }),
  unit_price_micros: micros("Price of `per` units"),
  per: T.Integer({ description: "Units that the price is for" }),
})

export const PlanEntry = T.Object({
  plan: described(Plan, "Name of the plan"),
  title: T.String(),
  currency: Currency,
  month_micros: Nullable(micros("Price of a month"), { description: "Null: the operator assigns it" }),
  year_micros: Nullable(micros("Price of a year"), { description: "Null: the operator assigns it" }),
  is_purchasable: T.Boolean({ description: "Whether `POST /v1/billing/checkout` takes it" }),
})

export const Checkout = T.Object({
  id: Id,
  checkout_url: T.String({ description: "Page that shows the amount and how it is paid" }),
  status: OneOf(PAYMENT_STATUSES, { description: "`complete`: paid" }),
  amount_micros: micros("Amount"),
  currency: Currency,
  expires_at: Time,
})

export const Payment = T.Object({
  id: Id,
  tenant_id: Id,
  purpose: OneOf(["credit", "plan", "invoice"], { description: "What is bought" }),
  plan: Nullable(described(Plan, "The plan that is bought"), { description: "Null where none is" }),
  provider: OneOf(["manual"], { description: "`manual`: the operator confirms that the money came" }),
  status: OneOf(PAYMENT_STATUSES, { description: "`complete`: paid" }),
  amount_micros: micros("Amount"),
  currency: Currency,
  invoice_id: Nullable(Id, { description: "Its invoice; null before it is paid" }),
  checkout_url: T.String({ description: "Page that shows the amount and how it is paid" }),
  created_at: Time,
  expires_at: Time,
  completed_at: Nullable(Time, { description: "When it was confirmed; null before" }),
})

export const InvoiceLine = T.Object({
  description: T.String(),
  quantity: T.Number({ description: "How many" }),
  unit_price_micros: micros("Price of one"),
  amount_micros: micros("Amount of the line"),
})

export const Invoice = T.Object({
  id: Id,
  number: T.String({ description: "Counts without gaps through all invoices of the installation" }),
  status: OneOf(INVOICE_STATUSES, { description: "`open`: not paid yet" }),
  currency: Currency,
  subtotal_micros: micros("Sum of the lines"),
  credits_applied_micros: micros("Paid from credit"),
  tax_micros: micros("Tax"),
  total_micros: micros("Sum with tax"),
  amount_due_micros: micros("What is still to be paid"),
  amount_paid_micros: micros("What was paid"),
  period_start: Time,
  period_end: Time,
  issued_at: Time,
  due_at: Time,
  paid_at: Nullable(Time, { description: "When it was paid; null before" }),
  attempt_count: T.Integer({ description: "How often it was tried to pay it from the credit" }),
  next_retry_at: Nullable(Time, { description: "When that is tried next; null where it is not" }),
  lines: T.Array(InvoiceLine, { description: "What it is for" }),
  html_url: T.String({ description: "The invoice as a page that prints; it takes the same key" }),
})
