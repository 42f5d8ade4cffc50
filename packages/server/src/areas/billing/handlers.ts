import { areas, type PlanName, page, pageOf, planNames, plans } from "@svc/contract"
import { organizationStore } from "../../core/organizations/store.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { Ledger } from "../../services/ledger/ledger.ts"
import {
  type AgreementHandlerNeeds,
  agreementHandlers,
  limitHandlers,
  tellingHandlers,
} from "./agreement-handlers.ts"
import { invoicePolicy, renderInvoice } from "./invoices.ts"
import { checkOperator, type Payments, startPayment } from "./payments.ts"
import {
  availableOf,
  checkoutUrl,
  monthOf,
  project,
  toBalance,
  toEntry,
  toInvoice,
  toLedgerEntry,
  toPayment,
  toPeriod,
  toTransaction,
} from "./rules.ts"
import { billingStore, type PaymentRow } from "./store.ts"
import { monthCosts } from "./usage.ts"

export interface BillingHandlerNeeds extends AgreementHandlerNeeds {
  readonly baseUrl: string
  readonly payments: Payments
}

/** What of the ledger changed the credit, or would have if there had been any. */
const CREDIT_TYPES = ["grant", "purchase", "charge", "overage", "overage_payment", "expiry"]
const CREDIT_ONLY = ["grant", "purchase", "charge", "expiry"]

/** The declared type of a reply of bytes is text; what is sent is bytes. */
const asBytes = (html: string): string => Buffer.from(html) as unknown as string

export const balanceOf = async (ledger: Ledger, { db, now }: Call, tenantId: string) => {
  const read = ledger.read(db)
  const wallet = await read.wallet(tenantId, now)
  const [added, next] = [await read.added(tenantId), await read.nextExpiry(tenantId)]
  const facts = { tenantId, mode: await ledger.modeOf(tenantId), currency: ledger.currency }
  return toBalance({ wallet, added, next }, facts)
}

const readHandlers = ({ ledger, prices, baseUrl }: BillingHandlerNeeds) => ({
  catalog(_: unknown, { organization }: Call) {
    const services = prices.meters.map(({ service, metric, unit, micros, per, included }) => ({
      ...{ service, metric, unit, unit_price_micros: micros, per },
      included: included === undefined ? 0 : plans[organization.plan].included[included],
    }))
    return { currency: ledger.currency, services }
  },

  credits: (_: unknown, call: Call) => balanceOf(ledger, call, call.organization.id),

  async history(input: { limit?: number; offset?: number }, { db, organization }: Call) {
    const found = await ledger.read(db).transfers(organization.id, pageOf(input), CREDIT_TYPES)
    return page({ ...found, rows: found.rows.map(toEntry) }, input)
  },

  async transactions(input: { limit?: number; offset?: number }, { db, organization }: Call) {
    const found = await ledger.read(db).transfers(organization.id, pageOf(input), CREDIT_ONLY)
    return page({ ...found, rows: found.rows.map(toTransaction) }, input)
  },

  async ledger(input: { limit?: number; offset?: number }, { db, organization }: Call) {
    const found = await ledger.read(db).transfers(organization.id, pageOf(input))
    return page({ ...found, rows: found.rows.map(toLedgerEntry) }, input)
  },

  async creditUsage(_: unknown, { db, organization, now }: Call) {
    const wallet = await ledger.read(db).wallet(organization.id, now)
    const { start, end } = monthOf(now)
    const isThisMonth = wallet?.month === start.toISOString().slice(0, 10)
    const spent = isThisMonth ? wallet.month_micros : 0
    return {
      period: toPeriod({ start, end }),
      currency: ledger.currency,
      consumed_micros: spent,
      remaining_micros: availableOf(wallet),
      projected_end_micros: project(spent, now),
    }
  },

  async usageMetrics(_: unknown, { db, organization, now }: Call) {
    const period = monthOf(now)
    const costs = await monthCosts(db, prices, { id: organization.id, plan: organization.plan }, period)
    const metrics = costs.map(({ price, quantity, included, overage, costMicros }) => ({
      ...{ metric: price.metric, service: price.service, unit: price.unit, quantity, included, overage },
      ...{ unit_price_micros: price.micros, per: price.per, cost_micros: costMicros },
    }))
    const total_micros = metrics.reduce((sum, { cost_micros }) => sum + cost_micros, 0)
    return { period: toPeriod(period), currency: ledger.currency, metrics, total_micros }
  },

  async payments(input: { limit?: number; offset?: number }, { db, organization, now }: Call) {
    const found = await billingStore(db).payments(organization.id, pageOf(input))
    return page({ ...found, rows: found.rows.map(row => toPayment(row, baseUrl, now)) }, input)
  },

  plans() {
    const entryOf = (plan: PlanName) => {
      const { month_micros, year_micros } = prices.plans[plan]
      const is_purchasable = (month_micros ?? 0) > 0 || (year_micros ?? 0) > 0
      const { title } = plans[plan]
      return { plan, title, currency: ledger.currency, month_micros, year_micros, is_purchasable }
    }
    return { plans: planNames.map(entryOf) }
  },

  pricing: () => ({
    currency: ledger.currency,
    prices: prices.meters.map(({ service, metric, unit, micros, per }) => ({
      ...{ service, metric, unit, unit_price_micros: micros, per },
    })),
  }),
})

const invoiceHandlers = ({ baseUrl }: BillingHandlerNeeds) => ({
  async invoices(input: { limit?: number; offset?: number }, { db, organization }: Call) {
    const found = await billingStore(db).invoices(organization.id, pageOf(input))
    return page({ ...found, rows: found.rows.map(row => toInvoice(row, baseUrl)) }, input)
  },

  async invoiceHtml({ invoice_id: id }: { invoice_id: string }, call: Call) {
    const found = billingStore(call.db).findInvoice(call.organization.id, id)
    const row = await requireRow(found, "invoice_not_found", { id })
    call.setHeader("content-type", "text/html; charset=utf-8")
    call.setHeader("content-security-policy", invoicePolicy)
    return asBytes(renderInvoice(row))
  },
})

export const billingHandlers = implement(areas.billing, (needs: BillingHandlerNeeds) => {
  const { baseUrl, ledger, prices, payments } = needs

  const toCheckout = (row: PaymentRow) => ({
    id: row.id,
    checkout_url: checkoutUrl(baseUrl, row.id),
    status: "open" as const,
    amount_micros: row.amount_micros,
    currency: row.currency,
    expires_at: row.expires_at.toISOString(),
  })

  return {
    ...readHandlers(needs),
    ...invoiceHandlers(needs),
    ...agreementHandlers(needs),
    ...limitHandlers(needs),
    ...tellingHandlers(needs),

    async checkout({ tenant_id, email, plan, interval = "month", success_url, cancel_url }, call) {
      if (tenant_id.toLowerCase() !== call.organization.id) throw fault("tenant_mismatch")
      const amountMicros = prices.plans[plan][`${interval}_micros`] ?? 0
      if (amountMicros === 0) throw fault("plan_not_purchasable", { plan })
      const asked = { purpose: "plan", amountMicros, plan, interval, email, success_url, cancel_url } as const
      return toCheckout(await startPayment(call, ledger.currency, asked))
    },

    async topUp({ amount_micros: amountMicros, success_url, cancel_url }, call) {
      const asked = { purpose: "credit", amountMicros, success_url, cancel_url } as const
      return toCheckout(await startPayment(call, ledger.currency, asked))
    },

    async providerOrder({ provider, amount_micros: amountMicros }, call) {
      if (provider !== "manual") {
        const reason = `payments by ${provider} are not part of this installation; use the provider manual`
        throw fault("service_unavailable", { reason }, { headers: { "x-should-retry": "false" } })
      }
      const { id, currency } = await startPayment(call, ledger.currency, { purpose: "credit", amountMicros })
      return { order_id: id, provider, amount_micros: amountMicros, currency, client_token: null }
    },

    async retryInvoice({ invoice_id: id }, call) {
      const store = billingStore(call.db)
      const row = await requireRow(store.lockInvoice(call.organization.id, id), "invoice_not_found", { id })
      call.describe({ targets: [{ type: "invoice", id, name: row.number }] })
      return toInvoice(await payments.payFromCredit(call, row), baseUrl)
    },

    async confirmPayment({ id }, call) {
      return toPayment(await payments.confirm(call, id), baseUrl, call.now)
    },

    async grantCredit(
      { organization_id, amount_micros: amountMicros, expires_at, description = "Credit" },
      call,
    ) {
      await checkOperator(call)
      const organizationId = organization_id.toLowerCase()
      await requireRow(organizationStore(call.db).find(organizationId), "organization_not_found")
      const expiresAt = expires_at === undefined || expires_at === null ? null : new Date(expires_at)
      // Not every time that RFC 3339 allows is one that exists: a leap second is none here.
      if (expiresAt && !(expiresAt > call.now))
        throw fault("invalid_parameter", { reason: "expires_at is not in the future" })
      const reference = `grant:${newId(call.now.getTime())}`
      const credit = {
        organizationId,
        reference,
        kind: "promotional",
        amountMicros,
        expiresAt,
        description,
      } as const
      await ledger.addCredit(call.db, credit, call.now)
      call.describe({
        tenantId: organizationId,
        targets: [{ type: "organization", id: organizationId }],
        metadata: { amount_micros: amountMicros, reference },
      })
      return balanceOf(ledger, call, organizationId)
    },
  }
})
