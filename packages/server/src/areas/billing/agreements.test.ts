import assert from "node:assert/strict"
import { test } from "node:test"
import { everyScope } from "../../testing/platform.ts"
import { billingWorld } from "./testing/world.ts"

const DOLLAR = 1_000_000
const MINUTE_MS = 60_000

type World = Awaited<ReturnType<typeof billingWorld>>

/** Adds use as the meters do. */
const use = ({ p, tenant_id }: World, metric: string, quantity: number) =>
  p.database.pool.query(
    `INSERT INTO core.usage AS u (organization_id, project_id, key_id, metric, day, quantity)
     VALUES ($1, $1, $1, $2, $3, $4) ON CONFLICT (organization_id, day, metric, key_id, project_id)
     DO UPDATE SET quantity = u.quantity + excluded.quantity`,
    [tenant_id, metric, new Date(p.clock.now()).toISOString().slice(0, 10), quantity],
  )

test("an agreement says who agreed to which terms and when, and ends when it is disabled", async t => {
  const { svc, tenant_id } = await billingWorld(t, { env: { SVC_BILLING_TERMS_VERSION: "2026-11" } })
  assert.equal((await svc.billing.infraAgreement({ tenant_id })).status, "none")
  const agreed = await svc.billing.enableInfraAgreement({ tenant_id })
  assert.deepEqual(
    [agreed.status, agreed.terms_version, agreed.autodebit.enabled],
    ["active", "2026-11", false],
  )
  assert.match(agreed.accepted_by ?? "", /^key:/)
  assert.deepEqual(await svc.billing.enableInfraAgreement({ tenant_id }), agreed)
  const ended = await svc.billing.disableInfraAgreement({ tenant_id })
  assert.equal(ended.status, "disabled")
  assert.deepEqual(await svc.billing.infraAgreement({ tenant_id }), ended)

  const module = { tenant_id, module: "kv" }
  assert.equal((await svc.billing.enableModuleAgreement(module)).status, "active")
  assert.equal((await svc.billing.moduleAgreement(module)).status, "active")
  assert.equal((await svc.billing.disableModuleAgreement(module)).autodebit.enabled, false)
  const { agreements } = await svc.billing.agreements({ tenant_id })
  assert.deepEqual(
    agreements.filter(({ status }) => status !== "none").map(agreement => agreement.module),
    ["infrastructure", "kv"],
  )
  for (const unknown of ["nothing", "infrastructure"])
    for (const ask of [
      svc.billing.moduleAgreement,
      svc.billing.enableModuleAgreement,
      svc.billing.setupModuleAutodebit,
      svc.billing.disableModuleAgreement,
    ])
      await assert.rejects(ask({ tenant_id, module: unknown }), {
        status: 404,
        code: "agreement_not_found",
      })
})

test("with autodebit, use from then on is charged once, minute by minute, and stops with the agreement", async t => {
  const world = await billingWorld(t)
  const { p, svc, tenant_id, buy, available } = world
  await buy(DOLLAR)
  await use(world, "kv_writes", 100)
  await svc.billing.setupModuleAutodebit({ tenant_id, module: "kv" })
  await p.clock.advance(2 * MINUTE_MS)
  assert.equal(await available(), DOLLAR)
  await use(world, "kv_writes", 30)
  await use(world, "searches", 1_000)
  await p.clock.advance(3 * MINUTE_MS)
  assert.equal(await available(), DOLLAR - 30)
  const [newest] = (await svc.billing.ledger({ tenant_id })).data
  assert.deepEqual([newest?.source.type, newest?.amount_micros], ["usage", 30])
  await svc.billing.disableModuleAgreement({ tenant_id, module: "kv" })
  await use(world, "kv_writes", 500)
  await p.clock.advance(2 * MINUTE_MS)
  assert.equal(await available(), DOLLAR - 30)
})

test("organizations that pay by credit are charged for all that is metered, what is short waits for credit, and the operator pays nothing", async t => {
  const world = await billingWorld(t, { env: { SVC_BILLING: "credit" } })
  const { p, svc, operator, operatorId, tenant_id, buy, available } = world
  await buy(10_000)
  await use(world, "kv_writes", 25_000)
  await use({ ...world, tenant_id: operatorId }, "kv_writes", 1_000)
  await p.clock.advance(2 * MINUTE_MS)
  assert.equal(await available(), 0)
  await buy(20_000)
  await p.clock.advance(2 * MINUTE_MS)
  assert.equal(await available(), 5_000)
  assert.equal((await svc.billing.credits({ tenant_id })).billing_mode, "credit")
  const own = await operator.billing.credits({ tenant_id: operatorId })
  assert.deepEqual([own.billing_mode, own.updated_at], ["legacy", null])
})

test("overage is limited by the operator, and what is owed is paid from the next credit", async t => {
  const world = await billingWorld(t, { env: { SVC_BILLING: "credit", SVC_BILLING_OVERAGE_MAX: "50000" } })
  const { p, svc, tenant_id, buy, available } = world
  await assert.rejects(svc.billing.toggleOverage({ tenant_id, enabled: true, limit_micros: 50_001 }), {
    status: 400,
    code: "invalid_amount",
  })
  const on = await svc.billing.toggleOverage({ tenant_id, enabled: true })
  assert.deepEqual(on, { overage_enabled: true, limit_micros: 50_000, used_micros: 0 })
  await use(world, "kv_writes", 60_000)
  await p.clock.advance(2 * MINUTE_MS)
  assert.equal((await svc.billing.credits({ tenant_id })).overage_micros, 50_000)
  const off = await svc.billing.toggleOverage({ tenant_id, enabled: false })
  assert.deepEqual(off, { overage_enabled: false, limit_micros: null, used_micros: 50_000 })
  await buy(100_000)
  assert.equal(await available(), 50_000)
  await p.clock.advance(2 * MINUTE_MS)
  assert.equal(await available(), 40_000)
})

test("a month never costs more than its cap, and removing the cap lets the rest be charged", async t => {
  const world = await billingWorld(t, { env: { SVC_BILLING: "credit" } })
  const { p, svc, tenant_id, buy, available } = world
  await buy(100_000)
  assert.equal((await svc.billing.spendingCap({ tenant_id })).cap_micros, null)
  const cap = await svc.billing.setSpendingCap({ tenant_id, cap_micros: 20_000 })
  assert.deepEqual(cap, { cap_micros: 20_000, action: "stop", spent_micros: 0 })
  await use(world, "kv_writes", 70_000)
  await p.clock.advance(3 * MINUTE_MS)
  assert.equal(await available(), 80_000)
  assert.equal((await svc.billing.spendingCap({ tenant_id })).spent_micros, 20_000)
  await svc.billing.removeSpendingCap({ tenant_id })
  await p.clock.advance(2 * MINUTE_MS)
  assert.equal(await available(), 30_000)
})

test("the operator sees failed requests of organizations that agreed to it, and of no other", async t => {
  const world = await billingWorld(t)
  const { p, svc, operator } = world
  await use(world, "request_errors", 4)
  await assert.rejects(svc.billing.glitches({}), { status: 403, code: "role_insufficient" })
  const seen = async () =>
    (await operator.billing.glitches({})).data
      .filter(({ organization_id }) => organization_id === world.tenant_id)
      .reduce((sum, { failed_requests }) => sum + failed_requests, 0)
  assert.equal((await svc.billing.glitchTracker({})).agreement_status, "none")
  assert.equal(await seen(), 0)
  assert.equal((await svc.billing.enableGlitchTracker({})).enabled, true)
  assert.ok((await seen()) >= 4)
  const ended = await svc.billing.disableGlitchTracker({})
  assert.deepEqual([ended.enabled, ended.agreement_status], [false, "disabled"])
  assert.equal(await seen(), 0)
  const restricted = await p.client("acme", ...everyScope)
  await assert.rejects(restricted.billing.enableGlitchTracker({}), { code: "organization_reach_required" })
})

test("feedback of the caller's own organization reaches the operator, and nobody else's is taken", async t => {
  const { svc, operator, operatorId, tenant_id } = await billingWorld(t)
  const { id } = await svc.billing.cancellationFeedback({
    tenant_id,
    reason: "too expensive",
    would_return: true,
  })
  const { data } = await operator.billing.feedback({})
  assert.deepEqual(
    data.map(row => [row.id, row.organization_id, row.reason, row.comment, row.would_return]),
    [[id, tenant_id, "too expensive", "", true]],
  )
  await assert.rejects(svc.billing.cancellationFeedback({ tenant_id: operatorId, reason: "x" }), {
    code: "tenant_mismatch",
  })
  await assert.rejects(svc.billing.feedback({}), { code: "role_insufficient" })
})
