/** The page of a payment: anyone who has its address sees it, and an owner of the installation can confirm it there. */
import { createHmac, timingSafeEqual } from "node:crypto"
import { areas, type FaultCode, faults } from "@svc/contract"
import type { SignedIn } from "../../core/accounts/signed-in.ts"
import { findInstallationOrganization } from "../../core/organizations/installation.ts"
import { organizationStore } from "../../core/organizations/store.ts"
import type { AccountCall, Principal } from "../../kernel/call.ts"
import type { InProcessCaller } from "../../kernel/edges/in-process.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { pageHeaders, renderCheckout } from "./pages.ts"
import { billingStore } from "./store.ts"

export interface BillingPageNeeds {
  readonly baseUrl: string
  readonly paymentText: string
  readonly csrfKey: Buffer
  readonly signedIn: SignedIn
  readonly inProcess: InProcessCaller
  readonly isOwnOrigin: (origin: string) => boolean
}

export const pageHandlers = implement(areas.billingPages, (needs: BillingPageNeeds) => {
  const { baseUrl, paymentText, csrfKey, signedIn, inProcess, isOwnOrigin } = needs
  const root = new URL(baseUrl).pathname.replace(/\/+$/, "")

  /** Bound to the session and to the payment: a form of another page or person is worth nothing. */
  const csrfOf = (id: string, { session }: Principal): string =>
    createHmac("sha256", csrfKey).update(`${id}:${session?.id}`).digest("base64url")

  const isOperator = async ({ db }: AccountCall, { organization, role }: Principal): Promise<boolean> =>
    (role === "owner" || role === "admin") && organization?.id === (await findInstallationOrganization(db))

  const checkOrigin = ({ header }: AccountCall) => {
    const origin = header("origin")
    const isOurs = origin === undefined ? header("sec-fetch-site") === "same-origin" : isOwnOrigin(origin)
    if (!isOurs) throw fault("csrf_failed")
  }

  return {
    async checkout({ id }, call) {
      const payment = await requireRow(billingStore(call.db).findPayment(id), "resource_not_found", { id })
      const buyer = await organizationStore(call.db).find(payment.organization_id)
      const person = await signedIn(call.header("cookie"), call.now)
      const csrf = person && (await isOperator(call, person)) ? csrfOf(id, person) : undefined
      for (const [name, value] of Object.entries(pageHeaders)) call.setHeader(name, value)
      const html = renderCheckout(payment, {
        root,
        buyer: buyer?.name ?? "",
        paymentText,
        now: call.now,
        csrf,
      })
      return Buffer.from(html) as unknown as string
    },

    async confirm({ id, csrf }, call) {
      checkOrigin(call)
      const person = await signedIn(call.header("cookie"), call.now)
      if (!person) throw fault("session_required")
      const expected = Buffer.from(csrfOf(id, person))
      const sent = Buffer.from(csrf)
      if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) throw fault("csrf_failed")
      const { reply: answer } = await inProcess({
        operation: areas.billing.operations.confirmPayment.name,
        input: { id },
        principal: person,
        project: null,
        ip: call.ip,
        headers: { "user-agent": call.userAgent ?? "" },
      })
      if (answer.status !== 200) {
        const code = (answer.body as { code?: string }).code ?? ""
        throw fault(Object.hasOwn(faults, code) ? (code as FaultCode) : "internal_error")
      }
      call.setHeader("location", `${baseUrl}/billing/checkout/${id}`)
    },
  }
})
