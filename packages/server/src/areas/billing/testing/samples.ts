/** Valid inputs of the operations of billing, for the tests that hold for every operation. */
import {
  organizationId,
  type Sample,
  type SampleWorld,
  type Unsampled,
} from "../../../testing/sample-world.ts"
import { issueInvoice } from "../invoices.ts"

/** An open payment of the tenant. */
export const newPayment = async (world: SampleWorld) => {
  const tenant_id = await organizationId(world)
  return world.wide.billing.topUp({ tenant_id, amount_micros: 1_000_000 })
}

/** An open invoice of the tenant. */
export const newInvoice = async (world: SampleWorld) => {
  const tenant_id = await organizationId(world)
  const now = new Date(world.platform.clock.now())
  const line = { description: "Something", quantity: 1, unit_price_micros: 20_000, amount_micros: 20_000 }
  const issuer = { currency: "USD", prefix: "SAMPLE", seller: "" }
  const given = {
    organizationId: tenant_id,
    lines: [line],
    period: { start: now, end: now },
    isPaid: false,
    now,
  }
  const { id } = await world.platform.database.transaction(tx => issueInvoice(tx, issuer, given))
  return { tenant_id, invoice_id: id }
}

const ofModule = async (world: SampleWorld) => ({ tenant_id: await organizationId(world), module: "kv" })

export const samples = {
  "billing.checkout": async world => ({
    tenant_id: await organizationId(world),
    email: "office@example.com",
    plan: "pro",
  }),
  "billing.topUp": async world => ({ tenant_id: await organizationId(world), amount_micros: 1_000_000 }),
  "billing.providerOrder": async world => ({
    tenant_id: await organizationId(world),
    provider: "manual",
    amount_micros: 1_000_000,
  }),
  "billing.invoiceHtml": newInvoice,
  "billing.retryInvoice": newInvoice,
  "billing.enableInfraAgreement": async world => ({
    tenant_id: await organizationId(world),
    autodebit: true,
  }),
  "billing.disableInfraAgreement": async world => ({ tenant_id: await organizationId(world) }),
  "billing.moduleAgreement": ofModule,
  "billing.enableModuleAgreement": ofModule,
  "billing.setupModuleAutodebit": ofModule,
  "billing.disableModuleAgreement": ofModule,
  "billing.toggleOverage": async world => ({ tenant_id: await organizationId(world), enabled: false }),
  "billing.setSpendingCap": async world => ({
    tenant_id: await organizationId(world),
    cap_micros: 1_000_000,
  }),
  "billing.removeSpendingCap": async world => ({ tenant_id: await organizationId(world) }),
  "billing.enableGlitchTracker": async () => ({}),
  "billing.disableGlitchTracker": async () => ({}),
  "billing.cancellationFeedback": async world => ({
    tenant_id: await organizationId(world),
    reason: "too expensive",
  }),
} satisfies Readonly<Record<string, Sample>>

const OPERATOR = "is the operator's alone; areas/billing/payments.test.ts has it"

export const unsampled = {
  "billing.confirmPayment": OPERATOR,
  "billing.grantCredit": OPERATOR,
  "billing.glitches": OPERATOR,
  "billing.feedback": OPERATOR,
} satisfies Unsampled
