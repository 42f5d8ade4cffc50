/** Invoices: issued with the next number, and shown as a page that prints. */
import { organizationStore } from "../../core/organizations/store.ts"
import type { Db } from "../../kernel/db/database.ts"
import { escapeHtml } from "../../kernel/edges/pages/layout.ts"
import { newId } from "../../kernel/id.ts"
import { DAY_MS, type Line, money } from "./rules.ts"
import { billingStore, type InvoiceRow } from "./store.ts"

export interface Issuer {
  readonly currency: string
  readonly prefix: string
  readonly seller: string
}

/** How long an invoice can wait before it is overdue. */
const DUE_MS = 14 * DAY_MS
const NUMBER_DIGITS = 6

export interface NewInvoice {
  readonly organizationId: string
  readonly lines: readonly Line[]
  readonly period: { readonly start: Date; readonly end: Date }
  readonly isPaid: boolean
  readonly now: Date
  readonly plan?: { readonly name: string; readonly interval: string }
}

/** In the caller's transaction, which is short: whoever issues another one waits for it. */
export const issueInvoice = async (db: Db, issuer: Issuer, given: NewInvoice): Promise<InvoiceRow> => {
  const { organizationId, lines, period, isPaid, now, plan } = given
  const buyer = (await organizationStore(db).find(organizationId))?.name ?? organizationId
  const series = `${issuer.prefix}-${now.getUTCFullYear()}`
  const total = lines.reduce((sum, line) => sum + line.amount_micros, 0)
  const number = await billingStore(db).nextNumber(series)
  const row: InvoiceRow = {
    organization_id: organizationId,
    id: newId(now.getTime()),
    number: `${series}-${String(number).padStart(NUMBER_DIGITS, "0")}`,
    status: isPaid ? "paid" : "open",
    currency: issuer.currency,
    subtotal_micros: total,
    credits_applied_micros: 0,
    tax_micros: 0,
    total_micros: total,
    amount_paid_micros: isPaid ? total : 0,
    period_start: period.start,
    period_end: period.end,
    issued_at: now,
    due_at: isPaid ? now : new Date(now.getTime() + DUE_MS),
    paid_at: isPaid ? now : null,
    attempt_count: 0,
    next_retry_at: isPaid ? null : now,
    lines: JSON.stringify(lines),
    seller: issuer.seller,
    buyer,
    plan: plan?.name ?? null,
    plan_interval: plan?.interval ?? null,
  }
  await billingStore(db).insertInvoice(row)
  return row
}

const STYLE =
  "body{font:11pt/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#111}" +
  "h1{font-size:1.5rem;margin:0 0 1rem}header{display:flex;justify-content:space-between;gap:2rem;margin-bottom:2rem}" +
  "table{border-collapse:collapse;width:100%;margin:2rem 0}th,td{text-align:left;padding:.4rem .5rem;border-bottom:1px solid #ccc}" +
  ".n{text-align:right;white-space:nowrap}address{font-style:normal;white-space:pre-line}@page{margin:20mm}" +
  "@media print{body{margin:0;max-width:none}}"

const day = (time: Date): string => time.toISOString().slice(0, 10)
const escapeLines = (text: string): string => escapeHtml(text.replaceAll("|", "\n"))

export const invoicePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

const STATES: Readonly<Record<string, string>> = { paid: "Paid", open: "To be paid", void: "Void" }

export const renderInvoice = (row: InvoiceRow): string => {
  const lines = JSON.parse(row.lines) as Line[]
  const amount = (micros: number) => escapeHtml(money(micros, row.currency))
  const rows = lines.map(
    line =>
      `<tr><td>${escapeHtml(line.description)}</td><td class="n">${line.quantity}</td>` +
      `<td class="n">${amount(line.unit_price_micros)}</td><td class="n">${amount(line.amount_micros)}</td></tr>`,
  )
  const sum = (name: string, micros: number) =>
    `<tr><th colspan="3" class="n">${name}</th><td class="n">${amount(micros)}</td></tr>`
  const due = row.total_micros - row.amount_paid_micros - row.credits_applied_micros
  const state = row.paid_at ? `Paid on ${day(row.paid_at)}` : (STATES[row.status] ?? row.status)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Invoice ${escapeHtml(row.number)}</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>${STYLE}</style></head><body>
<h1>Invoice ${escapeHtml(row.number)}</h1>
<header><address>${escapeLines(row.seller)}</address><address>${escapeHtml(row.buyer)}</address></header>
<p>Issued on ${day(row.issued_at)}, due on ${day(row.due_at)}. ${state}.</p>
<p>Period: ${day(row.period_start)} to ${day(row.period_end)}</p>
<table><thead><tr><th>What</th><th class="n">Quantity</th><th class="n">Price</th><th class="n">Amount</th></tr></thead>
<tbody>${rows.join("\n")}</tbody>
<tfoot>${sum("Subtotal", row.subtotal_micros)}${sum("Tax", row.tax_micros)}${sum("Total", row.total_micros)}${
    row.credits_applied_micros > 0 ? sum("Paid from credit", row.credits_applied_micros) : ""
  }${sum("To be paid", row.status === "open" ? due : 0)}</tfoot></table>
</body></html>
`
}
