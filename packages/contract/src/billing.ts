import { agreementOperations, capOperations, tellingOperations } from "./billing-agreements.ts"
import {
  AmountMicros,
  CatalogEntry,
  CHECKOUT_DAYS,
  Checkout,
  CreditBalance,
  CreditEntry,
  CreditTransaction,
  Currency,
  Invoice,
  LedgerEntry,
  MetricCost,
  Micros,
  Payment,
  Period,
  PlanEntry,
  PriceEntry,
  ReturnUrl,
  TenantParam,
} from "./billing-fields.ts"
import { area, T } from "./dsl.ts"
import { Plan } from "./identity.ts"
import { billingIntervals } from "./prices.ts"
import { described, Email, Id, Nullable, OneOf, Page, PageQuery, Time } from "./types.ts"

const returnUrls = {
  success_url: ReturnUrl("once it is paid"),
  cancel_url: ReturnUrl("where somebody does not want to pay"),
}
const InvoiceParams = T.Object({ tenant_id: Id, invoice_id: Id })
const operator = { scope: "admin:full", belongs: "installation", extension: true } as const
const EXAMPLE_ID = "0198c8b6-4a7e-7d3a-9a51-0123456789ab"

export const billing = area(
  "billing",
  {
    title: "Billing",
    summary: "Credit, payments, invoices, prices and agreements of an organization",
    project: "none",
    belongs: "organization",
  },
  {
    catalog: {
      id: "getServiceCatalog",
      http: "GET /v1/billing/catalog/{tenant_id}",
      summary: "List what is charged for, with prices and what the organization's plan includes",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      replies: {
        200: T.Object({
          currency: Currency,
          services: T.Array(CatalogEntry, { description: "A row for each meter that has a price" }),
        }),
      },
    },
    checkout: {
      id: "createCheckout",
      http: "POST /v1/billing/checkout",
      summary: "Buy a plan: start a payment and get the address of its page",
      description: `The plan applies once the operator has confirmed the payment. The page can be opened for ${CHECKOUT_DAYS} days.`,
      scope: "billing:write",
      effect: "write",
      body: T.Object({
        tenant_id: described(Id, "The caller's own organization"),
        email: described(Email, "Where questions about the payment go"),
        plan: described(Plan, "A plan that has a price"),
        interval: T.Optional(
          OneOf(billingIntervals, { default: "month", description: "How long one payment lasts" }),
        ),
        ...returnUrls,
      }),
      replies: { 201: Checkout },
      faults: ["tenant_mismatch", "plan_not_purchasable"],
      example: { tenant_id: EXAMPLE_ID, email: "office@example.com", plan: "pro" },
    },
    credits: {
      id: "getCreditBalance",
      http: "GET /v1/billing/credits/{tenant_id}",
      summary: "Show the credit of the organization",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      replies: { 200: CreditBalance },
    },
    topUp: {
      id: "createCreditTopupCheckout",
      http: "POST /v1/billing/credits/{tenant_id}/checkout",
      summary: "Buy credit: start a payment and get the address of its page",
      description: `The credit is there once the operator has confirmed the payment; what is owed is paid from it first. The page can be opened for ${CHECKOUT_DAYS} days.`,
      scope: "billing:write",
      effect: "write",
      params: TenantParam,
      body: T.Object({ amount_micros: AmountMicros, ...returnUrls }),
      replies: { 201: Checkout },
      example: { amount_micros: 25_000_000 },
    },
    providerOrder: {
      id: "createProviderTopupOrder",
      http: "POST /v1/billing/credits/{tenant_id}/provider-order",
      summary: "Buy credit: start a payment for the checkout of one payment provider",
      description:
        "`manual` is built in: the operator confirms that the money came. Card providers are not part of this installation and answer 503.",
      scope: "billing:write",
      effect: "write",
      params: TenantParam,
      body: T.Object({
        provider: OneOf(["manual", "stripe"], { description: "Payment provider" }),
        amount_micros: AmountMicros,
      }),
      replies: {
        201: T.Object({
          order_id: Id,
          provider: OneOf(["manual"], { description: "Payment provider" }),
          amount_micros: Micros("Amount"),
          currency: Currency,
          client_token: Nullable(T.String(), {
            description: "What the provider's own script needs; null for `manual`, which has none",
          }),
        }),
      },
      faults: ["service_unavailable"],
      example: { provider: "manual", amount_micros: 25_000_000 },
    },
    history: {
      id: "getCreditHistory",
      http: "GET /v1/billing/credits/{tenant_id}/history",
      summary: "List what was granted, bought, charged and expired",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      query: PageQuery,
      replies: { 200: Page(CreditEntry) },
    },
    transactions: {
      id: "getCreditTransactions",
      http: "GET /v1/billing/credit-transactions/{tenant_id}",
      summary: "List all changes of the credit",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      query: PageQuery,
      replies: { 200: Page(CreditTransaction) },
    },
    ledger: {
      id: "getCreditLedger",
      http: "GET /v1/billing/credit-ledger/{tenant_id}",
      summary: "List the transfers between the accounts of the organization",
      description:
        "Double entry: each transfer takes from one account and gives to another, and none is ever changed. The balances of all accounts together are zero.",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      query: PageQuery,
      replies: { 200: Page(LedgerEntry) },
    },
    creditUsage: {
      id: "getCreditUsage",
      http: "GET /v1/billing/credit-usage/{tenant_id}",
      summary: "Show what was charged this month, and what the month will come to",
      description:
        "The projection goes on as the month went so far; in the first day it is what was charged so far.",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      replies: {
        200: T.Object({
          period: Period,
          currency: Currency,
          consumed_micros: Micros("Charged this month"),
          remaining_micros: Micros("Credit that can be spent now"),
          projected_end_micros: Micros("What the whole month will come to"),
        }),
      },
    },
    usageMetrics: {
      id: "getUsageCostByMetric",
      http: "GET /v1/billing/credit-usage-metrics/{tenant_id}",
      summary: "Show what each meter of this month costs",
      description:
        "Use, what the plan includes of it, and the price of the rest. AI is priced by the model and not in this list: see `GET /v1/ai/budget`.",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      replies: {
        200: T.Object({
          period: Period,
          currency: Currency,
          metrics: T.Array(MetricCost, { description: "A row for each meter that has a price" }),
          total_micros: Micros("Sum of the rows"),
        }),
      },
    },
    invoices: {
      id: "listInvoices",
      http: "GET /v1/billing/invoices/{tenant_id}",
      summary: "List invoices",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      query: PageQuery,
      replies: { 200: Page(Invoice) },
    },
    invoiceHtml: {
      id: "renderInvoiceHtml",
      http: "GET /v1/billing/invoices/{tenant_id}/{invoice_id}/html",
      summary: "Get an invoice as a page that prints",
      scope: "billing:read",
      effect: "read",
      content: { reply: "bytes", replyTypes: ["text/html"] },
      params: InvoiceParams,
      replies: { 200: T.String() },
      faults: ["invoice_not_found"],
    },
    retryInvoice: {
      id: "retryInvoicePayment",
      http: "POST /v1/billing/invoices/{tenant_id}/{invoice_id}/retry",
      summary: "Try again to pay an open invoice from the organization's credit",
      description:
        "The reply is the invoice: `paid` where the credit sufficed, `open` where it did not. One that is paid stays as it is.",
      scope: "billing:write",
      effect: "write",
      params: InvoiceParams,
      replies: { 200: Invoice },
      faults: ["invoice_not_found"],
    },
    ...agreementOperations,
    ...capOperations,
    ...tellingOperations,
    payments: {
      extension: true,
      id: "listPayments",
      http: "GET /v1/billing/payments/{tenant_id}",
      summary: "List payments, open ones included",
      scope: "billing:read",
      effect: "read",
      params: TenantParam,
      query: PageQuery,
      replies: { 200: Page(Payment) },
    },
    plans: {
      extension: true,
      id: "listPlans",
      http: "GET /v1/billing/plans",
      summary: "List the plans with their prices",
      scope: "billing:read",
      effect: "read",
      replies: { 200: T.Object({ plans: T.Array(PlanEntry, { description: "The smallest first" }) }) },
    },
    pricing: {
      extension: true,
      id: "listPrices",
      http: "GET /v1/billing/pricing",
      summary: "List the prices of what is metered",
      scope: "billing:read",
      effect: "read",
      replies: {
        200: T.Object({
          currency: Currency,
          prices: T.Array(PriceEntry, { description: "A row for each meter that has a price" }),
        }),
      },
    },
    confirmPayment: {
      ...operator,
      id: "confirmPayment",
      http: "POST /v1/billing/payments/{id}/confirm",
      summary: "Confirm that the money of a payment came; for operators of the installation",
      description:
        "For the first organization, which operates the installation. What was bought is there at once, with an invoice. A payment that is confirmed already stays as it is.",
      effect: "write",
      risk: "high",
      idempotency: "natural",
      params: T.Object({ id: Id }),
      replies: { 200: Payment },
      faults: ["resource_not_found", "role_insufficient", "invalid_state_transition"],
    },
    grantCredit: {
      ...operator,
      id: "grantCredit",
      http: "POST /v1/billing/grants",
      summary: "Give an organization credit that nobody paid for; for operators of the installation",
      description:
        "For the first organization, which operates the installation. Credit that expires first is spent first, and promotional credit before paid.",
      effect: "write",
      risk: "high",
      body: T.Object({
        organization_id: described(Id, "Who gets it"),
        amount_micros: AmountMicros,
        expires_at: T.Optional(
          Nullable(Time, { description: "When what is left of it expires; null: never" }),
        ),
        description: T.Optional(
          T.String({ maxLength: 200, default: "Credit", description: "Shown in the organization's history" }),
        ),
      }),
      replies: { 201: CreditBalance },
      faults: ["organization_not_found", "role_insufficient", "invalid_parameter"],
      example: { organization_id: EXAMPLE_ID, amount_micros: 5_000_000, description: "Welcome" },
    },
  },
)
