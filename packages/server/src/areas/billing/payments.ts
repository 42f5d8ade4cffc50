/** What is bought, and what happens when the operator confirms that the money came. */
import { type BillingInterval, type PlanName, plans } from "@svc/contract"
import { findInstallationOrganization } from "../../core/organizations/installation.ts"
import { organizationStore } from "../../core/organizations/store.ts"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { Ledger } from "../../services/ledger/ledger.ts"
import { type Issuer, issueInvoice } from "./invoices.ts"
import { after, CHECKOUT_MS, type Line, statusOf } from "./rules.ts"
import { billingStore, type InvoiceRow, type PaymentRow } from "./store.ts"

export interface PaymentNeeds {
  readonly ledger: Ledger
  readonly changes: Changes
  readonly platformEvents: PlatformEvents
  readonly issuer: Issuer
}

export interface NewPayment {
  readonly purpose: "credit" | "plan" | "invoice"
  readonly amountMicros: number
  readonly plan?: PlanName
  readonly interval?: BillingInterval
  readonly email?: string
  readonly invoiceId?: string
  readonly success_url?: string | undefined
  readonly cancel_url?: string | undefined
}

export const startPayment = async (call: Call, currency: string, asked: NewPayment): Promise<PaymentRow> => {
  const row: PaymentRow = {
    id: newId(call.now.getTime()),
    organization_id: call.organization.id,
    purpose: asked.purpose,
    plan: asked.plan ?? null,
    plan_interval: asked.interval ?? null,
    provider: "manual",
    status: "open",
    amount_micros: asked.amountMicros,
    currency,
    email: asked.email ?? null,
    success_url: asked.success_url ?? null,
    cancel_url: asked.cancel_url ?? null,
    invoice_id: asked.invoiceId ?? null,
    created_at: call.now,
    expires_at: new Date(call.now.getTime() + CHECKOUT_MS),
    completed_at: null,
    confirmed_by: null,
  }
  await billingStore(call.db).insertPayment(row)
  call.describe({
    targets: [{ type: "payment", id: row.id }],
    metadata: { purpose: row.purpose, amount_micros: row.amount_micros, currency },
  })
  return row
}

/** Throws where the caller is not of the organization that runs the installation. */
export const checkOperator = async ({ db, organization }: Call): Promise<void> => {
  if (organization.id !== (await findInstallationOrganization(db)))
    throw fault("role_insufficient", { roles: "an owner of the organization that runs the installation" })
}

const planTitle = (plan: PlanName, interval: BillingInterval): string =>
  `Plan ${plans[plan].title}, ${interval === "year" ? "a year" : "a month"}`

export const planLine = (plan: PlanName, interval: BillingInterval, amountMicros: number): Line => ({
  description: planTitle(plan, interval),
  quantity: 1,
  unit_price_micros: amountMicros,
  amount_micros: amountMicros,
})

const CREDIT = "Credit"

export const createPayments = ({ ledger, changes, platformEvents, issuer }: PaymentNeeds) => {
  /** The organization has the plan from now on. */
  const assignPlan = async (call: Call, organizationId: string, plan: PlanName) => {
    await organizationStore(call.db).lock(organizationId)
    await organizationStore(call.db).update(organizationId, { plan })
    await changes.invalidate(call.db, "organization", organizationId)
  }

  const buyCredit = async (call: Call, payment: PaymentRow): Promise<InvoiceRow> => {
    const { organization_id: organizationId, id, amount_micros: amountMicros } = payment
    const reference = `payment:${id}`
    await ledger.addCredit(
      call.db,
      { organizationId, reference, kind: "paid", amountMicros, expiresAt: null, description: CREDIT },
      call.now,
    )
    const line = {
      description: CREDIT,
      quantity: 1,
      unit_price_micros: amountMicros,
      amount_micros: amountMicros,
    }
    const period = { start: call.now, end: call.now }
    return issueInvoice(call.db, issuer, {
      organizationId,
      lines: [line],
      period,
      isPaid: true,
      now: call.now,
    })
  }

  const buyPlan = async (call: Call, payment: PaymentRow): Promise<InvoiceRow> => {
    const { organization_id: organizationId, id, amount_micros: amountMicros } = payment
    const plan = payment.plan as PlanName
    const interval = payment.plan_interval as BillingInterval
    const description = planTitle(plan, interval)
    await ledger.sell(
      call.db,
      { organizationId, reference: `payment:${id}`, amountMicros, description },
      call.now,
    )
    await assignPlan(call, organizationId, plan)
    const period = { start: call.now, end: after(call.now, interval) }
    const lines = [planLine(plan, interval, amountMicros)]
    const invoice = await issueInvoice(call.db, issuer, {
      organizationId,
      lines,
      period,
      isPaid: true,
      now: call.now,
    })
    await billingStore(call.db).putSubscription({
      organization_id: organizationId,
      plan,
      plan_interval: interval,
      status: "active",
      period_start: period.start,
      period_end: period.end,
      cancel_at_period_end: false,
      invoice_id: invoice.id,
    })
    return invoice
  }

  return {
    /** Pays an open invoice from the organization's credit, if there is enough. The caller has locked it. */
    async payFromCredit(call: Call, invoice: InvoiceRow): Promise<InvoiceRow> {
      if (invoice.status !== "open") return invoice
      const { organization_id: organizationId, id, number, total_micros: amountMicros } = invoice
      const charge = { organizationId, reference: `invoice:${id}`, amountMicros, isPartial: false }
      const { refusal } = await ledger.charge(
        call.db,
        { ...charge, description: `Invoice ${number}` },
        call.now,
      )
      const attempt_count = invoice.attempt_count + 1
      const paid = {
        status: "paid",
        credits_applied_micros: amountMicros,
        paid_at: call.now,
        next_retry_at: null,
      }
      const change = { attempt_count, ...(refusal === null && paid) }
      await billingStore(call.db).updateInvoice(organizationId, id, change)
      return { ...invoice, ...change }
    },

    /** What was bought is there, with an invoice. One that is confirmed already stays as it is. */
    async confirm(call: Call, id: string): Promise<PaymentRow> {
      await checkOperator(call)
      const store = billingStore(call.db)
      const payment = await requireRow(store.lockPayment(id), "resource_not_found", { id })
      const status = statusOf(payment, call.now)
      if (status === "complete") return payment
      if (status === "expired") throw fault("invalid_state_transition", { state: status })
      const invoice =
        payment.purpose === "plan" ? await buyPlan(call, payment) : await buyCredit(call, payment)
      const change = {
        ...{ status: "complete", invoice_id: invoice.id, completed_at: call.now },
        confirmed_by: `${call.principal.type}:${call.principal.id}`,
      }
      await store.updatePayment(payment.organization_id, id, change)
      await platformEvents.emit(call.db, {
        organizationId: payment.organization_id,
        projectId: null,
        type: "billing.invoice.paid",
        data: { invoice_id: invoice.id, amount_micros: invoice.total_micros, currency: invoice.currency },
      })
      call.describe({
        tenantId: payment.organization_id,
        targets: [{ type: "payment", id }],
        metadata: { amount_micros: payment.amount_micros, invoice: invoice.number },
      })
      return { ...payment, ...change }
    },
  }
}
export type Payments = ReturnType<typeof createPayments>
