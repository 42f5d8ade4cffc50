/** Periods and shapes, without a database. */
import { type BillingInterval, CHECKOUT_DAYS, type InvoiceStatus, type PlanName } from "@svc/contract"
import type { TransferRow, WalletRow } from "../../services/ledger/store.ts"
import type { InvoiceRow, PaymentRow } from "./store.ts"

export const DAY_MS = 86_400_000
export const CHECKOUT_MS = CHECKOUT_DAYS * DAY_MS

/** The calendar month of a time, in UTC. */
export const monthOf = (now: Date): { readonly start: Date; readonly end: Date } => ({
  start: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)),
  end: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)),
})

/** The same day of a later month or year; its last day where that month is shorter. */
export const after = (from: Date, interval: BillingInterval): Date => {
  const months = interval === "year" ? 12 : 1
  const year = from.getUTCFullYear()
  const month = from.getUTCMonth() + months
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const end = new Date(from)
  end.setUTCFullYear(year, month, Math.min(from.getUTCDate(), lastDay))
  return end
}

export const toPeriod = ({ start, end }: { readonly start: Date; readonly end: Date }) => ({
  start: start.toISOString(),
  end: end.toISOString(),
})

/** Goes on as the month went so far. In its first day that would be chance. */
export const project = (spent: number, now: Date): number => {
  const { start, end } = monthOf(now)
  const passed = now.getTime() - start.getTime()
  if (passed < DAY_MS) return spent
  return Math.round((spent * (end.getTime() - start.getTime())) / passed)
}

/** `payment:0198…` → what moved money, and which one. */
export const sourceOf = (reference: string): { type: string; id: string } => {
  const colon = reference.indexOf(":")
  return { type: reference.slice(0, colon), id: reference.slice(colon + 1) }
}

const KINDS: Readonly<Record<string, "deduction" | undefined>> = { charge: "deduction" }

export const toEntry = (row: TransferRow) => ({
  id: row.id,
  kind: (KINDS[row.type] ?? row.type) as "grant",
  amount_micros: row.amount_micros,
  balance_after_micros: row.balance_after_micros,
  description: row.description,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at?.toISOString() ?? null,
})

export const toTransaction = (row: TransferRow) => ({
  id: row.id,
  type: row.credit_account === "credit" ? ("credit" as const) : ("debit" as const),
  amount_micros: row.amount_micros,
  reference: row.reference,
  effective_at: row.created_at.toISOString(),
  created_at: row.created_at.toISOString(),
})

export const toLedgerEntry = (row: TransferRow) => ({
  id: row.id,
  sequence: row.sequence,
  type: row.type as "grant",
  debit_account: row.debit_account as "cash",
  credit_account: row.credit_account as "cash",
  amount_micros: row.amount_micros,
  balance_after_micros: row.balance_after_micros,
  source: sourceOf(row.reference),
  description: row.description,
  created_at: row.created_at.toISOString(),
})

export const checkoutUrl = (baseUrl: string, id: string): string => `${baseUrl}/billing/checkout/${id}`

/** One whose time is over is so at once, whether or not anybody wrote it down. */
export const statusOf = ({ status, expires_at }: PaymentRow, now: Date): "open" | "complete" | "expired" =>
  status === "open" && expires_at <= now ? "expired" : (status as "open" | "complete")

export const toPayment = (row: PaymentRow, baseUrl: string, now: Date) => ({
  id: row.id,
  tenant_id: row.organization_id,
  purpose: row.purpose as "credit" | "plan" | "invoice",
  plan: row.plan as PlanName | null,
  provider: "manual" as const,
  status: statusOf(row, now),
  amount_micros: row.amount_micros,
  currency: row.currency,
  invoice_id: row.invoice_id,
  checkout_url: checkoutUrl(baseUrl, row.id),
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
  completed_at: row.completed_at?.toISOString() ?? null,
})

export interface Line {
  readonly description: string
  readonly quantity: number
  readonly unit_price_micros: number
  readonly amount_micros: number
}

export const toInvoice = (row: InvoiceRow, baseUrl: string) => {
  const due = row.total_micros - row.amount_paid_micros - row.credits_applied_micros
  return {
    id: row.id,
    number: row.number,
    status: row.status as InvoiceStatus,
    currency: row.currency,
    subtotal_micros: row.subtotal_micros,
    credits_applied_micros: row.credits_applied_micros,
    tax_micros: row.tax_micros,
    total_micros: row.total_micros,
    amount_due_micros: row.status === "open" ? due : 0,
    amount_paid_micros: row.amount_paid_micros,
    period_start: row.period_start.toISOString(),
    period_end: row.period_end.toISOString(),
    issued_at: row.issued_at.toISOString(),
    due_at: row.due_at.toISOString(),
    paid_at: row.paid_at?.toISOString() ?? null,
    attempt_count: row.attempt_count,
    next_retry_at: row.next_retry_at?.toISOString() ?? null,
    lines: JSON.parse(row.lines) as Line[],
    html_url: `${baseUrl}/v1/billing/invoices/${row.organization_id}/${row.id}/html`,
  }
}

export interface Balance {
  readonly wallet: WalletRow | undefined
  readonly added: { readonly granted: number; readonly purchased: number }
  readonly next: { readonly expires_at: Date | null; readonly left_micros: number } | undefined
}

export const availableOf = (wallet: WalletRow | undefined): number =>
  wallet ? wallet.credit_micros - wallet.held_micros : 0

export const toBalance = (
  { wallet, added, next }: Balance,
  facts: { readonly tenantId: string; readonly mode: "credit" | "legacy"; readonly currency: string },
) => ({
  tenant_id: facts.tenantId,
  billing_mode: facts.mode,
  currency: facts.currency,
  available_micros: availableOf(wallet),
  ledger_micros: wallet?.credit_micros ?? 0,
  reserved_micros: (wallet?.held_micros ?? 0) + (wallet?.held_overage_micros ?? 0),
  granted_micros: added.granted,
  purchased_micros: added.purchased,
  overage_enabled: (wallet?.overage_limit_micros ?? null) !== null,
  // Not -0.
  overage_micros: 0 - (wallet?.overage_micros ?? 0),
  next_expiry: next?.expires_at
    ? { at: next.expires_at.toISOString(), amount_micros: next.left_micros }
    : null,
  updated_at: wallet?.updated_at.toISOString() ?? null,
})

/** `12.34 EUR`: rounded to cents for people; the amounts themselves are not rounded. */
export const money = (micros: number, currency: string): string => {
  const exact = micros % 10_000 === 0
  return `${(micros / 1_000_000).toFixed(exact ? 2 : 6)} ${currency}`
}
