import assert from "node:assert/strict"
import { test } from "node:test"
import { platformEventTypes } from "@svc/contract"
import fc from "fast-check"
import { everyScope } from "../../testing/platform.ts"
import { choosesType, unknownPatterns } from "./rules.ts"
import { worldOf } from "./testing/world.ts"

const URL = "https://example.com/hooks"
const BARE = Buffer.alloc(24, "secret").toString("base64")
const SECRET = `whsec_${BARE}`

test("a webhook is registered, shown, listed, replaced as a whole and removed, and its secret is shown once", async t => {
  const { svc, tenant_id } = await worldOf(t)
  const { secret, ...made } = await svc.webhooks.register({
    ...{ tenant_id, url: URL, event_types: ["database.*"], description: "ours" },
  })
  assert.match(secret ?? "", /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(made.secret_hint, secret?.slice(-4))
  assert.equal(made.tenant_id, tenant_id)
  const { id } = made
  assert.deepEqual(await svc.webhooks.get({ tenant_id, id }), made)
  assert.deepEqual((await svc.webhooks.list({ tenant_id })).data, [made])

  const replaced = await svc.webhooks.update({ tenant_id, id, url: `${URL}/2`, event_types: ["key.revoked"] })
  assert.equal(replaced.description, "")
  assert.equal(replaced.active, true)
  assert.deepEqual(replaced.event_types, ["key.revoked"])
  assert.equal(replaced.secret, undefined)
  assert.equal(replaced.secret_hint, made.secret_hint)

  assert.equal(await svc.webhooks.unregister({ tenant_id, id }), undefined)
  await assert.rejects(svc.webhooks.get({ tenant_id, id }), { status: 404, code: "webhook_not_found" })
  await assert.rejects(svc.webhooks.unregister({ tenant_id, id }), { code: "webhook_not_found" })
  const again = { tenant_id, id, url: URL, event_types: ["*"] }
  await assert.rejects(svc.webhooks.update(again), { code: "webhook_not_found" })
  assert.equal((await svc.webhooks.list({ tenant_id })).total, 0)
})

test("other names of the fields are taken, and never given", async t => {
  const { p, tenant_id } = await worldOf(t)
  const { secret } = await p.key("acme", everyScope)
  const response = await p.request(`/api/v1/tenants/${tenant_id}/webhooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ url: URL, events: ["key.*"], enabled: false }),
  })
  assert.equal(response.status, 201)
  const { data } = (await response.json()) as { data: Record<string, unknown> }
  assert.deepEqual(
    [data.event_types, data.active, data.events, data.enabled],
    [["key.*"], false, undefined, undefined],
  )
})

test("what cannot work is refused when it is saved, and says what is wrong", async t => {
  const { svc, tenant_id } = await worldOf(t)
  const made = await svc.webhooks.register({ tenant_id, url: URL, event_types: ["*"], secret: BARE })
  assert.equal(made.secret, SECRET)
  const { id } = made
  const refusals = [
    [{ url: "http://169.254.169.254/latest" }, "invalid_webhook_url"],
    [{ url: "https://user:password@example.com" }, "invalid_webhook_url"],
    [{ url: "https://example.com:25/" }, "invalid_webhook_url"],
    [{ url: "nowhere" }, "invalid_webhook_url"],
    [{ event_types: ["database.exploded"] }, "invalid_parameter"],
    [{ event_types: ["data*"] }, "invalid_parameter"],
    [{ event_types: ["*.created"] }, "invalid_parameter"],
    [{ event_types: [] }, "validation_failed"],
    [{ secret: "hush" }, "invalid_parameter"],
    [{ secret: `whsec_${Buffer.alloc(23).toString("base64")}` }, "invalid_parameter"],
    [{ secret: `whsec_${Buffer.alloc(65).toString("base64")}` }, "invalid_parameter"],
  ] as const
  for (const [wrong, code] of refusals) {
    const input = { tenant_id, url: URL, event_types: ["*"], ...wrong } as never
    await assert.rejects(svc.webhooks.register(input), { status: 400, code }, JSON.stringify(wrong))
    const replaced = { ...(input as object), id } as never
    await assert.rejects(svc.webhooks.update(replaced), { status: 400, code }, JSON.stringify(wrong))
  }
  for (const missing of [{ url: URL }, { event_types: ["*"] }]) {
    const input = { tenant_id, ...missing } as never
    await assert.rejects(svc.webhooks.register(input), { status: 400, code: "validation_failed" })
  }
  const named = svc.webhooks.register({ tenant_id, url: URL, event_types: ["key.*", "oops"] })
  await assert.rejects(named, { message: /oops/ })
})

test("an organization never has more than a thousand webhooks, however many are registered at once", async t => {
  const { svc, tenant_id } = await worldOf(t)
  const input = { tenant_id, url: URL, event_types: ["*"] }
  const register = () =>
    svc.webhooks.register(input).then(
      () => "registered",
      error => error.code,
    )
  const outcomes: string[] = []
  for (let batch = 0; batch < 43; batch++)
    outcomes.push(...(await Promise.all(Array.from({ length: 24 }, register))))
  const refused = outcomes.filter(outcome => outcome !== "registered")
  assert.deepEqual(refused, Array(32).fill("invalid_parameter"))
  assert.equal((await svc.webhooks.list({ tenant_id })).total, 1_000)
})

test("the types of event can be read, each with the schema of its data", async t => {
  const { svc, tenant_id } = await worldOf(t)
  const { data, total } = await svc.webhooks.eventTypes({ tenant_id })
  assert.deepEqual(
    data.map(({ type }) => type),
    platformEventTypes,
  )
  assert.equal(total, platformEventTypes.length)
  const revoked = data.find(({ type }) => type === "key.revoked")
  assert.equal(revoked?.schema.type, "object")
  assert.deepEqual(revoked?.schema.required, ["key_id", "name", "prefix", "expires_at"])
  const { data: page } = await svc.webhooks.eventTypes({ tenant_id, limit: 2, offset: 1 })
  assert.deepEqual(page, data.slice(1, 3))
})

test("a key of one project sees and changes the webhooks of that project alone", async t => {
  const { p, svc, tenant_id, person } = await worldOf(t)
  const input = { tenant_id, url: URL, event_types: ["*"] }
  const ofProject = await svc.webhooks.register(input)
  const other = await person.projects.create({ name: "other" })
  const stranger = p.as((await p.key("acme", everyScope, { project_id: other.id })).secret)
  const whole = p.as((await p.key("acme", everyScope, { project_id: null })).secret)
  const ofAll = await whole.webhooks.register(input)

  assert.equal(ofAll.project_id, null)
  assert.equal((await stranger.webhooks.list({ tenant_id })).total, 0)
  for (const { id } of [ofProject, ofAll]) {
    const named = { tenant_id, id }
    await assert.rejects(stranger.webhooks.get(named), { code: "webhook_not_found" })
    await assert.rejects(stranger.webhooks.update({ ...input, id }), { code: "webhook_not_found" })
    await assert.rejects(stranger.webhooks.unregister(named), { code: "webhook_not_found" })
    await assert.rejects(stranger.webhooks.rotateSecret(named), { code: "webhook_not_found" })
    await assert.rejects(stranger.webhooks.test(named), { code: "webhook_not_found" })
    await assert.rejects(stranger.webhooks.deliveries(named), { code: "webhook_not_found" })
    await assert.rejects(stranger.webhooks.replay(named), { code: "webhook_not_found" })
    const delivery = { ...named, delivery_id: id }
    await assert.rejects(stranger.webhooks.retryDelivery(delivery), { code: "webhook_not_found" })
  }
  const seen = (await whole.webhooks.list({ tenant_id })).data.map(({ id }) => id)
  assert.deepEqual(seen, [ofAll.id, ofProject.id])
})

test("a choice takes in what it names, everything below it, and nothing beside it", () => {
  const type = fc.constantFrom(...platformEventTypes)
  fc.assert(
    fc.property(type, type, (chosen, happened) => {
      assert.equal(choosesType([chosen], happened), chosen === happened)
      assert.ok(choosesType(["*"], happened))
      const [thing = ""] = chosen.split(".")
      assert.equal(choosesType([`${thing}.*`], happened), happened.startsWith(`${thing}.`))
      assert.deepEqual(unknownPatterns([chosen, `${thing}.*`, "*", `${thing}x`, `${thing}*`]), [
        `${thing}x`,
        `${thing}*`,
      ])
    }),
  )
})
