/** The organization that runs the installation, and a customer of it. */
import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import { everyScope, type PlatformOptions, platform } from "../../../testing/platform.ts"

export const billingWorld = async (t: TestContext, options: PlatformOptions = {}) => {
  const p = await platform(t, options)
  // The first organization runs the installation.
  assert.ok(p.firstRun)
  const { organization_id: operatorId, email, password } = p.firstRun
  const { organizationId: tenant_id } = await p.tenant("acme", "free")
  const ofOperator = { organization_id: operatorId, project_id: null }
  const operator = p.as((await p.key("acme", everyScope, ofOperator)).secret)
  const { secret } = await p.key("acme", everyScope, { project_id: null })
  const svc = p.as(secret)

  /** The headers of the installation's owner, signed in. */
  const operatorSession = async () => {
    const response = await p.request("/v1/account/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, password }),
    })
    return { cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "", origin: p.url }
  }

  /** Buys credit and has the operator confirm the payment. */
  const buy = async (amount_micros: number) => {
    const { id } = await svc.billing.topUp({ tenant_id, amount_micros })
    return operator.billing.confirmPayment({ id })
  }

  const available = async () => (await svc.billing.credits({ tenant_id })).available_micros

  const invoiceHtml = async (invoice_id: string) => {
    const response = await p.request(`/v1/billing/invoices/${tenant_id}/${invoice_id}/html`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    assert.equal(response.status, 200)
    return response.text()
  }

  return { p, tenant_id, operatorId, operator, operatorSession, svc, secret, buy, available, invoiceHtml }
}
