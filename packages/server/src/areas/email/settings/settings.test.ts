import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope } from "../../../testing/platform.ts"
import { deliveryWorld } from "../testing/delivery-world.ts"
import { reports } from "../testing/reports.ts"
import { reportsWorld } from "../testing/reports-world.ts"

const relay = { host: "smtp.example.com", port: 2525, username: "ada", password: "sesame" }

test("settings have defaults, are replaced as a whole, and never show the relay's password", async t => {
  const { p, svc, organizationId } = await deliveryWorld(t)
  const defaults = await svc.email.getSettings()
  assert.equal(defaults.delivery.mode, "provider")
  assert.equal(defaults.own_domain_delivery_enabled, false)
  assert.deepEqual(defaults.suppress_on, { hard_bounce: true, complaint: true })

  const put = await svc.email.updateSettings({
    sender: { from_email: "hi@example.com", from_name: "Example" },
    delivery: { mode: "relay", relay },
    tracking: { opens: true },
  })
  assert.deepEqual(put.delivery.relay, {
    ...{ host: "smtp.example.com", port: 2525, security: "starttls", username: "ada", password_set: true },
  })
  assert.deepEqual(await svc.email.getSettings(), put)
  const { db } = p.database
  const stored = await db.selectFrom("email.settings").selectAll().executeTakeFirstOrThrow()
  assert.equal(stored.organization_id, organizationId)
  assert.doesNotMatch(JSON.stringify([stored, put]), /sesame/)

  const replaced = await svc.email.updateSettings({})
  assert.deepEqual({ ...replaced, updated_at: null }, defaults)
  const other = await p.wide("globex", ...everyScope)
  assert.deepEqual(await other.email.getSettings(), defaults)
})

test("a password that was left out stays for the same server and user, and goes with any other", async t => {
  const { svc } = await deliveryWorld(t)
  const { password: _, ...same } = relay
  await svc.email.updateSettings({ delivery: { relay } })
  const kept = await svc.email.updateSettings({ delivery: { relay: same } })
  assert.equal(kept.delivery.relay?.password_set, true)
  const stolen = await svc.email.updateSettings({ delivery: { relay: { ...same, host: "evil.example" } } })
  assert.equal(stolen.delivery.relay?.password_set, false)
})

test("settings that cannot work are refused", async t => {
  const { p, svc } = await deliveryWorld(t)
  for (const host of ["127.0.0.1", "localhost", "169.254.169.254", "::1", "a b"])
    await assert.rejects(
      svc.email.updateSettings({ delivery: { mode: "relay", relay: { host } } }),
      { status: 400, code: "invalid_parameter" },
      host,
    )
  await assert.rejects(svc.email.updateSettings({ delivery: { mode: "relay" } }), {
    code: "invalid_parameter",
  })
  await assert.rejects(svc.email.updateSettings({ sender: { from_name: "a\r\nBcc: x@y.z" } }), {
    status: 400,
  })
  const other = await p.wide("globex", ...everyScope)
  const { id } = await other.email.addDomain({ domain: "globex.example.com" })
  await assert.rejects(svc.email.updateSettings({ default_domain_id: id }), {
    ...{ status: 404, code: "domain_not_found" },
  })
})

test("addresses are suppressed and released by hand, in whatever spelling", async t => {
  const { p, svc } = await deliveryWorld(t)
  const added = await svc.email.suppress({ email: "Ada@Example.org" })
  assert.deepEqual([added.email, added.reason, added.origin], ["ada@example.org", "manual", "admin"])
  assert.deepEqual(await svc.email.suppress({ email: "ada@example.org" }), added)
  await svc.email.suppress({ email: "bob@example.org" })
  assert.equal((await svc.email.listSuppression()).total, 2)
  assert.deepEqual((await svc.email.listSuppression({ email: "ADA@example.org" })).data, [added])
  assert.equal((await svc.email.listSuppression({ reason: "complaint" })).total, 0)
  const other = await p.wide("globex", ...everyScope)
  const missing = { status: 404, code: "resource_not_found" }
  await assert.rejects(other.email.unsuppress({ email: "ada@example.org" }), missing)
  await svc.email.unsuppress({ email: "ada@EXAMPLE.org" })
  await assert.rejects(svc.email.unsuppress({ email: "ada@example.org" }), missing)
})

test("who mails too many that do not exist is warned, then paused, and may begin anew", async t => {
  const world = await reportsWorld(t)
  const { p, svc, mail, record, verifiedDomain } = world
  const domain = await verifiedDomain("mail.example.com")
  const stored = await mail()
  const at = new Date(p.clock.now())
  for (let n = 0; n < 93; n += 1) await record(stored, "sent", at)
  const bounced = { bounce: { type: "permanent" } }
  for (let n = 0; n < 7; n += 1) await record(stored, "bounced", at, bounced)
  const [warning] = (await svc.email.stats()).warnings
  assert.deepEqual(warning, { code: "bounce_rate", rate: 0.07, limit: 0.05, pauses_at: 0.1 })

  for (let n = 0; n < 4; n += 1) await record(stored, "bounced", at, bounced)
  // A bounce that arrives is what makes the platform look.
  const { returnPath } = await world.send("nobody@example.org")
  assert.match(await world.report(returnPath, reports.postfix), /^250/)
  await p.clock.advance(2_000)
  await eventually("delivery is paused", async () => (await svc.email.getSettings()).delivery_paused !== null)
  const paused = await svc.email.getSettings()
  assert.equal(paused.delivery_paused?.reason, "bounce_rate")
  assert.equal(paused.own_domain_delivery_enabled, false)
  assert.equal((await svc.email.getDomain({ id: domain.id })).delivery_enabled, false)

  await p.clock.advance(1_000)
  const anew = await svc.email.updateSettings({ own_domain_delivery_enabled: true })
  assert.equal(anew.delivery_paused, null)
  assert.deepEqual((await svc.email.stats()).warnings, [])
})
