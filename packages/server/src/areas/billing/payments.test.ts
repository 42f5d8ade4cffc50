import assert from "node:assert/strict"
import { test } from "node:test"
import { Parser } from "htmlparser2"
import { billingWorld } from "./testing/world.ts"

const DAY_MS = 86_400_000
const DOLLAR = 1_000_000

test("bought credit is there once the operator confirms the payment, with one invoice, however often it is confirmed", async t => {
  const { svc, operator, tenant_id, available } = await billingWorld(t)
  const checkout = await svc.billing.topUp({ tenant_id, amount_micros: 25 * DOLLAR })
  assert.equal(checkout.status, "open")
  assert.equal(await available(), 0)

  const confirmations = Array.from({ length: 5 }, () => operator.billing.confirmPayment({ id: checkout.id }))
  for (const payment of await Promise.all(confirmations)) assert.equal(payment.status, "complete")

  assert.equal(await available(), 25 * DOLLAR)
  const invoices = await svc.billing.invoices({ tenant_id })
  assert.equal(invoices.total, 1)
  assert.equal(invoices.data[0]?.status, "paid")
  const { data } = await svc.billing.payments({ tenant_id })
  assert.deepEqual(
    data.map(({ status, invoice_id }) => [status, invoice_id]),
    [["complete", invoices.data[0]?.id]],
  )
})

test("nobody but the operator confirms payments and grants credit, and nobody pays for another organization", async t => {
  const { p, svc, operator, operatorId, tenant_id, available } = await billingWorld(t)
  const { id } = await svc.billing.topUp({ tenant_id, amount_micros: DOLLAR })
  await assert.rejects(svc.billing.confirmPayment({ id }), { status: 403, code: "role_insufficient" })
  const grant = { organization_id: tenant_id, amount_micros: DOLLAR }
  await assert.rejects(svc.billing.grantCredit(grant), { code: "role_insufficient" })
  const ofOperator = { organization_id: operatorId, project_id: null }
  const narrow = p.as((await p.key("acme", ["billing:write"], ofOperator)).secret)
  await assert.rejects(narrow.billing.confirmPayment({ id }), { code: "missing_scope" })
  assert.equal(await available(), 0)

  const other = { email: "a@example.com", plan: "pro", tenant_id: operatorId }
  await assert.rejects(svc.billing.checkout(other as never), { status: 403, code: "tenant_mismatch" })
  await assert.rejects(operator.billing.confirmPayment({ id: tenant_id }), { code: "resource_not_found" })
  await assert.rejects(operator.billing.grantCredit({ ...grant, organization_id: id }), {
    code: "organization_not_found",
  })
  const past = new Date(p.clock.now() - 1).toISOString()
  await assert.rejects(operator.billing.grantCredit({ ...grant, expires_at: past }), {
    code: "invalid_parameter",
  })
})

test("a payment that nobody confirmed in seven days cannot be confirmed any more", async t => {
  const { p, svc, operator, tenant_id, available } = await billingWorld(t)
  const { id } = await svc.billing.topUp({ tenant_id, amount_micros: DOLLAR })
  await p.clock.advance(7 * DAY_MS)
  await assert.rejects(operator.billing.confirmPayment({ id }), {
    status: 409,
    code: "invalid_state_transition",
  })
  assert.equal((await svc.billing.payments({ tenant_id })).data[0]?.status, "expired")
  assert.equal(await available(), 0)
})

test("a bought plan applies once its payment is confirmed; free and unsold plans cannot be bought", async t => {
  const { p, svc, operator, tenant_id } = await billingWorld(t)
  const order = { tenant_id, email: "office@example.com", interval: "year" } as const
  for (const plan of ["free", "enterprise"] as const)
    await assert.rejects(svc.billing.checkout({ ...order, plan }), {
      status: 400,
      code: "plan_not_purchasable",
    })
  const { id, amount_micros } = await svc.billing.checkout({ ...order, plan: "pro" })
  assert.equal(amount_micros, 490 * DOLLAR)
  const planOf = async () => (await (await p.person("acme")).organizations.get({ org_id: tenant_id })).plan
  assert.equal(await planOf(), "free")
  await operator.billing.confirmPayment({ id })
  assert.equal(await planOf(), "pro")
  const { data } = await svc.billing.ledger({ tenant_id })
  assert.deepEqual(
    data.map(({ type, debit_account, credit_account, amount_micros }) => [
      ...[type, debit_account, credit_account, amount_micros],
    ]),
    [["sale", "cash", "revenue", 490 * DOLLAR]],
  )
})

test("invoices of all organizations count through without a gap, also when they are issued at once and some fail", async t => {
  const { p, svc, operator, tenant_id } = await billingWorld(t)
  const orders = await Promise.all(
    Array.from({ length: 12 }, () => svc.billing.topUp({ tenant_id, amount_micros: DOLLAR })),
  )
  await p.database.pool.query("DELETE FROM billing.payments WHERE id = $1", [orders[3]?.id])
  const done = await Promise.allSettled(orders.map(({ id }) => operator.billing.confirmPayment({ id })))
  assert.equal(done.filter(({ status }) => status === "rejected").length, 1)
  const numbers = (await svc.billing.invoices({ tenant_id })).data.map(({ number }) => number).sort()
  const year = new Date(p.clock.now()).getUTCFullYear()
  const expected = Array.from({ length: 11 }, (_, n) => `SVC-${year}-${String(n + 1).padStart(6, "0")}`)
  assert.deepEqual(numbers, expected)
})

test("a provider that is not part of the installation answers 503, and the built-in one gives an order", async t => {
  const { svc, tenant_id } = await billingWorld(t)
  const order = { tenant_id, amount_micros: DOLLAR }
  await assert.rejects(svc.billing.providerOrder({ ...order, provider: "stripe" }), {
    status: 503,
    code: "service_unavailable",
  })
  const { client_token, order_id } = await svc.billing.providerOrder({ ...order, provider: "manual" })
  assert.equal(client_token, null)
  assert.equal((await svc.billing.payments({ tenant_id })).data[0]?.id, order_id)
})

test("an open invoice is paid from credit when it suffices, once, and stays open when it does not", async t => {
  const { p, svc, tenant_id, buy, available } = await billingWorld(t)
  const { newInvoice } = await import("./testing/samples.ts")
  const { createSampleWorld } = await import("../../testing/sample-world.ts")
  const world = await createSampleWorld(p, "acme")
  const invoice = await newInvoice(world)
  const open = await svc.billing.retryInvoice(invoice)
  assert.deepEqual([open.status, open.attempt_count, open.amount_due_micros], ["open", 1, 20_000])
  await buy(DOLLAR)
  const attempts = await Promise.all(Array.from({ length: 4 }, () => svc.billing.retryInvoice(invoice)))
  for (const { status, amount_due_micros } of attempts)
    assert.deepEqual([status, amount_due_micros], ["paid", 0])
  assert.equal(await available(), DOLLAR - 20_000)
  await assert.rejects(svc.billing.retryInvoice({ tenant_id, invoice_id: tenant_id }), {
    code: "invoice_not_found",
  })
})

test("history, transactions and ledger tell the same of grants, purchases and their order", async t => {
  const { p, svc, operator, tenant_id, buy } = await billingWorld(t)
  const expires_at = new Date(p.clock.now() + DAY_MS).toISOString()
  const grant = { organization_id: tenant_id, amount_micros: 5 * DOLLAR, expires_at, description: "Welcome" }
  assert.equal((await operator.billing.grantCredit(grant)).granted_micros, 5 * DOLLAR)
  await buy(DOLLAR)
  const balance = await svc.billing.credits({ tenant_id })
  assert.deepEqual(balance.next_expiry, { at: expires_at, amount_micros: 5 * DOLLAR })
  assert.deepEqual([balance.billing_mode, balance.purchased_micros], ["legacy", DOLLAR])
  await p.clock.advance(DAY_MS)
  assert.equal((await svc.billing.credits({ tenant_id })).available_micros, DOLLAR)

  const history = await svc.billing.history({ tenant_id })
  assert.deepEqual(
    history.data.map(({ kind, description, balance_after_micros }) => [
      kind,
      description,
      balance_after_micros,
    ]),
    [
      ["expiry", "Credit expired", DOLLAR],
      ["purchase", "Credit", 6 * DOLLAR],
      ["grant", "Welcome", 5 * DOLLAR],
    ],
  )
  const transactions = await svc.billing.transactions({ tenant_id, limit: 2 })
  assert.equal(transactions.total, 3)
  assert.deepEqual(
    transactions.data.map(({ type }) => type),
    ["debit", "credit"],
  )
  const entries = await svc.billing.ledger({ tenant_id })
  assert.deepEqual(
    entries.data.map(({ sequence, source }) => [sequence, source.type]),
    [
      [3, "expiry"],
      [2, "payment"],
      [1, "grant"],
    ],
  )
})

test("an invoice is a page that an HTML parser reads, with what a name says as text and nothing that runs", async t => {
  const { p, svc, tenant_id, buy, invoiceHtml } = await billingWorld(t, {
    env: { SVC_BILLING_SELLER: "Cloud & Co|1 <Main> Street" },
  })
  await p.database.pool.query("UPDATE core.organizations SET name = $1 WHERE id = $2", [
    "<script>alert(1)</script>",
    tenant_id,
  ])
  await buy(12_340_000)
  const html = await invoiceHtml((await svc.billing.invoices({ tenant_id })).data[0]?.id ?? "")
  const texts: string[] = []
  const elements: string[] = []
  const parser = new Parser({ ontext: text => texts.push(text), onopentag: name => elements.push(name) })
  parser.end(html)
  const text = texts.join("")
  for (const expected of ["12.34 USD", "Cloud & Co\n1 <Main> Street", "<script>alert(1)</script>"])
    assert.ok(text.includes(expected), expected)
  assert.ok(!elements.includes("script"))
})

test("the page of a payment shows it to anybody, and lets only an owner of the installation confirm it", async t => {
  const { p, svc, tenant_id, available, operatorSession } = await billingWorld(t, {
    env: { SVC_BILLING_PAYMENT_TEXT: "IBAN DE00 <b>" },
  })
  const success_url = "https://example.com/done"
  const { checkout_url } = await svc.billing.topUp({ tenant_id, amount_micros: 3 * DOLLAR, success_url })
  const path = new URL(checkout_url).pathname
  const read = async (headers: Record<string, string> = {}) => {
    const response = await p.request(path, { headers: { ...headers, accept: "text/html" } })
    assert.equal(response.status, 200)
    const html = await response.text()
    return { html, csrf: /name="csrf" value="([^"]*)"/.exec(html)?.[1] }
  }
  const submit = (csrf: string, headers: Record<string, string>) =>
    p.request(path, { method: "POST", redirect: "manual", headers, body: new URLSearchParams({ csrf }) })

  const { html } = await read()
  assert.ok(html.includes("3.00 USD") && html.includes("IBAN DE00 &lt;b&gt;"))
  const customer = await p.session("acme")
  assert.equal((await read(customer)).csrf, undefined)
  const owner = await operatorSession()
  const { csrf = "" } = await read(owner)
  const tries = [
    submit(csrf, { origin: p.url }),
    submit(csrf, customer),
    submit("wrong", owner),
    submit(csrf, { ...owner, origin: "https://evil.example" }),
  ]
  for (const { status } of await Promise.all(tries)) assert.ok(status === 403 || status === 401, `${status}`)
  assert.equal(await available(), 0)

  assert.equal((await submit(csrf, owner)).status, 303)
  assert.equal(await available(), 3 * DOLLAR)
  assert.ok((await read()).html.includes(success_url))
  assert.equal((await p.request("/billing/checkout/0198c8b6-4a7e-7d3a-9a51-0123456789ab")).status, 404)
})

test("the page of a payment that is too old confirms nothing", async t => {
  const { p, svc, tenant_id, available, operatorSession } = await billingWorld(t)
  const { checkout_url } = await svc.billing.topUp({ tenant_id, amount_micros: DOLLAR })
  const path = new URL(checkout_url).pathname
  const owner = await operatorSession()
  const html = await (await p.request(path, { headers: owner })).text()
  const csrf = /name="csrf" value="([^"]*)"/.exec(html)?.[1] ?? assert.fail("no form")
  // The session stays in use.
  for (let hours = 0; hours < 8 * 24; hours += 8) {
    await p.clock.advance(8 * 3_600_000)
    await (await p.request("/v1/account", { headers: owner })).body?.cancel()
  }
  const body = new URLSearchParams({ csrf })
  const response = await p.request(path, { method: "POST", redirect: "manual", headers: owner, body })
  assert.equal(response.status, 409)
  await response.body?.cancel()
  assert.equal(await available(), 0)
})
