import assert from "node:assert/strict"
import { test } from "node:test"
import { EMAIL_DOMAINS_MAX } from "@svc/contract"
import { newId } from "../../../kernel/id.ts"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope } from "../../../testing/platform.ts"
import { deliveryWorld, type EmailDomain } from "../testing/delivery-world.ts"

const DOMAIN = "mail.example.com"
const MINUTE_MS = 60_000

const statuses = ({ records }: EmailDomain) =>
  Object.fromEntries(records.map(({ record, status }) => [record, status]))

test("a domain is registered with the records to publish, is verified once they are there, and is removed", async t => {
  const { svc, publish } = await deliveryWorld(t)
  const made = await svc.email.addDomain({ domain: "Mail.Example.COM." })
  assert.equal(made.domain, DOMAIN)
  assert.equal(made.status, "not_started")
  assert.equal(made.delivery_enabled, false)
  const shown = made.records.map(({ record, type, name, required }) => [record, type, name, required])
  assert.deepEqual(shown, [
    ["OWNERSHIP", "TXT", `_svc-verify.${DOMAIN}`, true],
    ["DKIM", "TXT", `svc1._domainkey.${DOMAIN}`, true],
    ["RETURN_PATH", "MX", `bounce.${DOMAIN}`, true],
    ["SPF", "TXT", `bounce.${DOMAIN}`, true],
    ["DMARC", "TXT", `_dmarc.${DOMAIN}`, false],
    ["TRACKING", "CNAME", `track.${DOMAIN}`, false],
  ])
  assert.deepEqual(await svc.email.getDomain({ id: made.id }), made)
  await assert.rejects(svc.email.addDomain({ domain: DOMAIN }), { status: 409, code: "domain_taken" })

  publish(made)
  const verified = await svc.email.verifyDomain({ id: made.id })
  assert.equal(verified.status, "verified")
  assert.deepEqual(new Set(Object.values(statuses(verified))), new Set(["verified"]))
  assert.notEqual(verified.verified_at, null)
  assert.equal(verified.delivery_enabled, false)
  await svc.email.updateSettings({ own_domain_delivery_enabled: true })
  assert.equal((await svc.email.getDomain({ id: made.id })).delivery_enabled, true)
  assert.equal((await svc.email.listDomains()).data[0]?.delivery_enabled, true)

  await svc.email.deleteDomain({ id: made.id })
  await assert.rejects(svc.email.getDomain({ id: made.id }), { status: 404, code: "domain_not_found" })
  await assert.rejects(svc.email.deleteDomain({ id: made.id }), { status: 404, code: "domain_not_found" })
  await assert.rejects(svc.email.verifyDomain({ id: made.id }), { status: 404, code: "domain_not_found" })
  assert.equal((await svc.email.listDomains()).total, 0)
})

test("proof of ownership alone does not let mail out", async t => {
  const { svc, publish } = await deliveryWorld(t)
  await svc.email.updateSettings({ own_domain_delivery_enabled: true })
  const made = await svc.email.addDomain({ domain: DOMAIN })
  publish(made, "OWNERSHIP")
  const owned = await svc.email.verifyDomain({ id: made.id })
  assert.equal(owned.status, "partially_verified")
  assert.equal(owned.delivery_enabled, false)
  assert.equal(statuses(owned).DKIM, "pending")
})

test("whoever claims a domain without proof stands in nobody's way, and its owner keeps others out", async t => {
  const { p, svc, dns, publish } = await deliveryWorld(t)
  const squatter = await p.wide("squatter", ...everyScope)
  const claim = await squatter.email.addDomain({ domain: DOMAIN })
  await squatter.email.verifyDomain({ id: claim.id })

  const mine = await svc.email.addDomain({ domain: DOMAIN })
  publish(mine)
  assert.equal((await svc.email.verifyDomain({ id: mine.id })).status, "verified")
  // The squatter's token in a name it cannot write is no use, and the owner's own is another.
  const refused = await squatter.email.verifyDomain({ id: claim.id })
  assert.equal(refused.status, "pending")
  assert.equal(refused.delivery_enabled, false)
  assert.equal(statuses(refused).OWNERSHIP, "failed")

  const third = await p.wide("third", ...everyScope)
  await assert.rejects(third.email.addDomain({ domain: DOMAIN }), { status: 409, code: "domain_taken" })
  await assert.rejects(third.email.getDomain({ id: mine.id }), { status: 404 })
  await assert.rejects(third.email.verifyDomain({ id: mine.id }), { status: 404 })
  await assert.rejects(third.email.deleteDomain({ id: mine.id }), { status: 404 })

  // Once the zone has the other's records instead, the domain has changed hands.
  for (const { name } of mine.records) dns.answer(name, [])
  await svc.email.verifyDomain({ id: mine.id })
  publish(claim)
  assert.equal((await squatter.email.verifyDomain({ id: claim.id })).status, "verified")
})

test("records that appear later are found by themselves, and for three days", async t => {
  const { p, svc, publish, dns } = await deliveryWorld(t)
  const late = await svc.email.addDomain({ domain: DOMAIN })
  const never = await svc.email.addDomain({ domain: "never.example.com" })
  const checksOf = () => dns.questions.filter(({ name }) => name === `_svc-verify.${DOMAIN}`).length
  for (const [at, minutes] of [1, 5, 15].entries()) {
    await p.clock.advance(minutes * MINUTE_MS)
    // A question whose answer is slow is asked twice.
    await eventually("it was looked up again", () => checksOf() > at)
    await eventually("and written", async () => {
      const { status, next_check_at } = await svc.email.getDomain({ id: late.id })
      return status === "pending" && Date.parse(next_check_at ?? "") > p.clock.now()
    })
  }
  publish(late)
  await p.clock.advance(60 * MINUTE_MS)
  await eventually(
    "it is verified",
    async () => (await svc.email.getDomain({ id: late.id })).status === "verified",
  )

  await p.clock.advance(73 * 60 * MINUTE_MS)
  await eventually("the other was given up", async () => {
    const { status } = await svc.email.getDomain({ id: never.id })
    return status === "failed"
  })
  assert.equal((await svc.email.getDomain({ id: never.id })).next_check_at, null)
  publish(never)
  assert.equal((await svc.email.verifyDomain({ id: never.id })).status, "verified")
})

test("what is no domain is refused", async t => {
  const { svc } = await deliveryWorld(t)
  for (const domain of [
    "com",
    "127.0.0.1",
    "a..b.com",
    "-a.com",
    "a b.com",
    "x@y.com",
    "_dmarc.a.com",
    "1.2",
  ])
    await assert.rejects(svc.email.addDomain({ domain }), { status: 400, code: "invalid_parameter" }, domain)
  await assert.rejects(svc.email.addDomain({ domain: "a.com", return_path: "x", tracking_subdomain: "X" }), {
    code: "invalid_parameter",
  })
  assert.equal((await svc.email.addDomain({ domain: "bücher.example" })).domain, "xn--bcher-kva.example")
})

test("an organization has as many domains as are allowed, and no more", async t => {
  const { p, svc, organizationId } = await deliveryWorld(t)
  const { id } = await svc.email.addDomain({ domain: DOMAIN })
  const { db } = p.database
  const row = await db.selectFrom("email.domains").where("id", "=", id).selectAll().executeTakeFirstOrThrow()
  const others = Array.from({ length: EMAIL_DOMAINS_MAX - 1 }, (_, n) => ({
    ...{ ...row, id: newId(), organization_id: organizationId, domain: `d${n}.example.com`, findings: "{}" },
  }))
  await db.insertInto("email.domains").values(others).execute()
  await assert.rejects(svc.email.addDomain({ domain: "one-more.example.com" }), {
    status: 402,
    code: "plan_limit_reached",
  })
})

test("webhooks are told once that a domain is verified", async t => {
  const { svc, publish, organizationId: tenant_id } = await deliveryWorld(t)
  const { id } = await svc.webhooks.register({
    ...{ tenant_id, url: "https://hooks.example.com/", event_types: ["email.domain.*"] },
  })
  const made = await svc.email.addDomain({ domain: DOMAIN })
  publish(made)
  for (let n = 0; n < 2; n += 1) await svc.email.verifyDomain({ id: made.id })
  const { data } = await svc.webhooks.deliveries({ tenant_id, id })
  assert.deepEqual(
    data.map(({ event_type }) => event_type),
    ["email.domain.verified"],
  )
})
