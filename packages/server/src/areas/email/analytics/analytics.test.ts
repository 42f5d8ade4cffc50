import assert from "node:assert/strict"
import { test } from "node:test"
import type { EmailEventKind } from "@svc/contract"
import fc from "fast-check"
import { everyScope } from "../../../testing/platform.ts"
import { deliveryWorld } from "../testing/delivery-world.ts"

const DAY_MS = 86_400_000

test("events are listed newest first, by mail, recipient, kind and time, and only to their organization", async t => {
  const { p, svc, mail, record } = await deliveryWorld(t)
  const [one, two] = [await mail({ address: "Ada@example.org" }), await mail({ address: "bob@example.org" })]
  const start = Math.floor(p.clock.now() / 1000) * 1000
  await record(one, "sent", new Date(start - 3_000))
  await record(one, "delivered", new Date(start - 2_000), { smtp_code: 250 })
  await record(two, "bounced", new Date(start - 1_000), { bounce: { type: "permanent" } })

  const all = await svc.email.listEvents()
  assert.deepEqual(
    all.data.map(({ event }) => event),
    ["bounced", "delivered", "sent"],
  )
  assert.equal(all.total, 3)
  const { id: _, ...shown } = all.data[1] as (typeof all.data)[number]
  assert.deepEqual(shown, {
    ...{ type: "email.delivered", event: "delivered", created_at: new Date(start - 2_000).toISOString() },
    ...{ email_id: one.emailId, message_id: `<${one.emailId}@mail.example.com>`, recipient: one.address },
    ...{ from: "hi@mail.example.com", subject: "Hello", template: null, domain: "mail.example.com" },
    ...{ tags: { kind: "test" }, details: { smtp_code: 250 } },
  })
  const count = async (filter: Parameters<typeof svc.email.listEvents>[0]) =>
    (await svc.email.listEvents(filter)).data.length
  assert.equal(await count({ email_id: one.emailId }), 2)
  assert.equal(await count({ recipient: "ADA@example.org" }), 2)
  assert.equal(await count({ event: "bounced" }), 1)
  assert.equal(await count({ since: new Date(start - 2_000).toISOString() }), 2)
  assert.equal(await count({ until: new Date(start - 2_000).toISOString() }), 1)
  assert.equal(await count({ limit: 1, offset: 2 }), 1)

  const other = await p.wide("globex", ...everyScope)
  assert.equal((await other.email.listEvents({ email_id: one.emailId })).total, 0)
})

interface Happening {
  readonly recipient: number
  readonly event: EmailEventKind
  readonly daysAgo: number
  readonly isMachine: boolean
  readonly isPermanent: boolean
}

const happening: fc.Arbitrary<Happening> = fc.record({
  recipient: fc.integer({ min: 0, max: 5 }),
  event: fc.constantFrom("sent", "delivered", "bounced", "complained", "opened", "clicked", "unsubscribed"),
  daysAgo: fc.integer({ min: 0, max: 6 }),
  isMachine: fc.boolean(),
  isPermanent: fc.boolean(),
})

const detailsOf = ({ event, isMachine, isPermanent, recipient }: Happening) => ({
  ...(event === "opened" && { machine: isMachine }),
  ...(event === "bounced" && { bounce: { type: isPermanent ? "permanent" : "transient" } }),
  ...(event === "clicked" && { click: { link: `https://example.com/${recipient % 2}` } }),
})

/** The figures, counted one by one. */
const naively = (happenings: readonly Happening[]) => {
  const those = (event: EmailEventKind) =>
    happenings.filter(each => each.event === event && !(event === "opened" && each.isMachine))
  const unique = (event: EmailEventKind) => new Set(those(event).map(({ recipient }) => recipient)).size
  return {
    ...{ sent: those("sent").length + those("bounced").length, delivered: those("delivered").length },
    ...{ delayed: 0, bounced: those("bounced").length, complained: those("complained").length },
    bounced_permanent: those("bounced").filter(({ isPermanent }) => isPermanent).length,
    ...{ opened: those("opened").length, unique_opened: unique("opened") },
    ...{ clicked: those("clicked").length, unique_clicked: unique("clicked") },
    ...{ unsubscribed: those("unsubscribed").length, suppressed: 0, failed: 0 },
  }
}

test("figures are those that counting one by one gives, for the period and each of its days", async t => {
  const { p, svc, mail, record } = await deliveryWorld(t)
  await svc.email.createTemplate({ name: "welcome", subject: "Hi", html: "<p>Hi</p>" })
  const mails = []
  for (let n = 0; n < 6; n += 1) mails.push(await mail({ template: "welcome", address: `r${n}@example.org` }))
  const happenings = fc.sample(happening, { numRuns: 200, seed: 7 })
  const noon = Math.floor(p.clock.now() / DAY_MS) * DAY_MS - DAY_MS / 2
  for (const each of happenings) {
    const stored = mails[each.recipient]
    assert.ok(stored)
    await record(stored, each.event, new Date(noon - each.daysAgo * DAY_MS), detailsOf(each))
  }
  // What is of another template, time or organization counts nowhere.
  await record(await mail({ template: "other" }), "sent", new Date(noon - 10 * DAY_MS))
  await record(await mail({ tenant: "globex" }), "sent", new Date(noon))

  const week = { since: new Date(noon - 6.5 * DAY_MS).toISOString(), until: new Date(noon + 1).toISOString() }
  const { period, quota, warnings, ...counts } = await svc.email.stats(week)
  assert.deepEqual(counts, naively(happenings))
  assert.deepEqual(period, { from: week.since, to: week.until })
  assert.equal(quota.limit, null)
  assert.deepEqual(warnings, [])

  const summary = await svc.email.analyticsSummary(week)
  const share = (part: number, whole: number) => Math.round((part / whole) * 1e6) / 1e6
  assert.equal(summary.open_rate, share(counts.unique_opened, counts.delivered))
  assert.equal(summary.bounce_rate, share(counts.bounced, counts.sent))
  for (let daysAgo = 0; daysAgo < 7; daysAgo += 1) {
    const date = new Date(noon - daysAgo * DAY_MS).toISOString().slice(0, 10)
    const day = summary.series.find(each => each.date === date)
    assert.deepEqual(day, { date, ...naively(happenings.filter(each => each.daysAgo === daysAgo)) })
  }

  const campaign = await svc.email.analyticsCampaign({ template_name: "welcome", ...week })
  assert.equal(campaign.sent, counts.sent)
  const clicks = happenings.filter(({ event }) => event === "clicked")
  for (const { link, clicks: number } of campaign.top_links)
    assert.equal(
      number,
      clicks.filter(({ recipient }) => link === `https://example.com/${recipient % 2}`).length,
    )
  await assert.rejects(svc.email.analyticsCampaign({ template_name: "nobody" }), {
    ...{ status: 404, code: "template_not_found" },
  })
})

test("without mails all rates are zero, and a period that is none is refused", async t => {
  const { p, svc } = await deliveryWorld(t)
  const summary = await svc.email.analyticsSummary()
  assert.equal(summary.bounce_rate, 0)
  assert.equal(summary.series.length >= 30, true)
  const now = new Date(p.clock.now()).toISOString()
  for (const wrong of [
    { since: now, until: now },
    { since: "2020-01-01T00:00:00Z", until: "2022-01-01T00:00:00Z" },
  ]) {
    for (const asking of [svc.email.stats(wrong), svc.email.analyticsSummary(wrong)])
      await assert.rejects(asking, { status: 400, code: "invalid_parameter" })
  }
  await p.tenant("small", "free")
  const small = await p.wide("small", ...everyScope)
  assert.deepEqual((await small.email.stats()).quota.limit, 100)
})
