/** The page of a payment. */
import { escapeHtml, pagePolicy, renderPage } from "../../kernel/edges/pages/layout.ts"
import { money, statusOf } from "./rules.ts"
import type { PaymentRow } from "./store.ts"

export const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": pagePolicy("'self'"),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
}

const PURPOSES: Readonly<Record<string, string>> = {
  credit: "Credit",
  plan: "Plan",
  invoice: "Invoice",
}

const link = (url: string | null, text: string): string =>
  url === null ? "" : `<p><a href="${escapeHtml(url)}" rel="noreferrer">${text}</a></p>`

export const renderCheckout = (
  payment: PaymentRow,
  facts: {
    readonly root: string
    readonly buyer: string
    readonly paymentText: string
    readonly now: Date
    /** For whoever may confirm it. */
    readonly csrf: string | undefined
  },
): string => {
  const { root, buyer, paymentText, now, csrf } = facts
  const amount = escapeHtml(money(payment.amount_micros, payment.currency))
  const status = statusOf(payment, now)
  const plan = payment.plan === null ? "" : ` <b>${escapeHtml(payment.plan)}</b>`
  const what = `<p>${PURPOSES[payment.purpose] ?? ""}${plan} for <b>${escapeHtml(buyer)}</b></p>`
  const states = {
    complete: `<p role="status">Paid. What was bought is there.</p>${link(payment.success_url, "Continue")}`,
    expired: '<p role="alert" class="bad">This payment can no longer be made. Start another one.</p>',
    open: `<p>${escapeHtml(paymentText)}</p>
<p class="soft">Give this reference with the payment: <code>${payment.id}</code>. What is bought is there once the operator has confirmed the payment.</p>${link(payment.cancel_url, "Go back")}`,
  }
  const form =
    csrf === undefined || status !== "open"
      ? ""
      : `<h2>For the operator</h2><form method="post" action="${root}/billing/checkout/${payment.id}">
<input type="hidden" name="csrf" value="${csrf}">
<p>Confirm only once the money is there: it cannot be taken back here.</p>
<button>Confirm that ${amount} came</button></form>`
  return renderPage({
    title: "Payment",
    root,
    section: "none",
    main: `<h1>${amount}</h1>${what}${states[status]}${form}`,
  })
}
