import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { createBrowser } from "../../ports/push/testing/browser.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { readFirstRun, spawnSvc } from "../../testing/process.ts"
import { answer, startReceiver } from "../../testing/receiver.ts"
import { BOTH, settled } from "./testing/settled.ts"

const DAY_MS = 86_400_000

const count = async (p: TestPlatform, table: string): Promise<number> => {
  const { rows } = await p.database.pool.query(`SELECT count(*) AS count FROM notifications.${table}`)
  return Number(rows[0].count)
}

test("notifications past their retention or their time are forgotten with all that hangs on them", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  await svc.notifications.registerDevice({ provider: "fcm", token: "t" })
  await svc.notifications.send({ title: "short", ttl_seconds: 60, dedupe_key: "d" })
  await svc.notifications.send({ title: "long" })
  await p.clock.advance(2 * 3_600_000)
  await eventually("the short one is gone", async () => (await count(p, "messages")) === 1)
  await p.clock.advance(91 * DAY_MS)
  await eventually("everything is gone", async () => (await count(p, "messages")) === 0)
  assert.deepEqual([await count(p, "entries"), await count(p, "deliveries")], [0, 0])
  await eventually("so is the key", async () => (await count(p, "dedupe_keys")) === 0)
})

test("who leaves an organization leaves nothing behind, and others keep theirs", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...BOTH)
  const ada = await p.person("acme", "member")
  const { id: adaId } = await ada.account.get()
  await ada.notifications.registerDevice({ provider: "fcm", token: "ada" })
  await ada.notifications.updatePreferences({ categories: { a: false } })
  await svc.notifications.registerDevice({ provider: "fcm", token: "key" })
  await ada.notifications.send({ title: "to Ada" })
  await svc.notifications.send({ title: "to the key" })
  const chief = await p.person("acme", "owner")
  const { organizationId } = await p.tenant("acme")
  await chief.organizations.removeMember({ org_id: organizationId, user_id: adaId })
  await p.clock.advance(2 * 3_600_000)
  await eventually("what was Ada's is gone", async () => (await count(p, "inboxes")) === 1)
  assert.deepEqual(
    [await count(p, "entries"), await count(p, "devices"), await count(p, "preferences")],
    [1, 1, 0],
  )
  assert.equal((await svc.notifications.list()).total, 1)
})

test("owners find in their inbox that a webhook was switched off, once, and members do not", async t => {
  const p = await platform(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.1/32" } })
  const endpoint = await startReceiver(t)
  endpoint.script(answer(410))
  const { organizationId: tenant_id } = await p.tenant("acme")
  const owner = await p.person("acme", "owner")
  const member = await p.person("acme", "member")
  const { id } = await owner.webhooks.register({ tenant_id, url: endpoint.url, event_types: ["key.created"] })
  await owner.keys.create({ name: "k", type: "secret", scopes: ["kv:read"] })
  await endpoint.received(1)
  await eventually(
    "the notice is there",
    async () => (await owner.notifications.unreadCount()).unread_count > 0,
  )
  const [notice, ...others] = (await owner.notifications.list()).data
  assert.deepEqual(others, [])
  assert.deepEqual(
    [notice?.type, notice?.category, notice?.priority],
    ["webhook.disabled", "webhooks", "high"],
  )
  assert.equal(notice?.data.webhook_id, id)
  assert.deepEqual(await member.notifications.unreadCount(), { unread_count: 0 })
})

test("a push that was accepted reaches its device though the platform is killed before it went out", async t => {
  const service = await startReceiver(t)
  // The first process never gets an answer.
  service.script(() => undefined)
  const env = { SVC_OUTBOUND_ALLOW: "127.0.0.1/32" }
  const first = spawnSvc(t, { env })
  const baseUrl = await first.ready
  const { api_key: apiKey } = readFirstRun(first.dataDir)
  const svc = createSvc({ baseUrl, apiKey, retries: 0 })
  const browser = createBrowser(`${service.url}/push`)
  await svc.notifications.registerDevice({ provider: "webpush", subscription: browser.subscription })
  const { id } = await svc.notifications.send({ title: "Survivor" })
  await service.received(1)
  first.signal("SIGKILL")
  await first.exited
  service.script(answer(201))
  const second = spawnSvc(t, { env, dataDir: first.dataDir })
  const again = createSvc({ baseUrl: await second.ready, apiKey, retries: 0 })
  assert.equal((await again.notifications.get({ id })).title, "Survivor")
  assert.equal((await settled(again, id)).status, "sent")
  const [last] = service.requests.slice(-1)
  assert.deepEqual((browser.read(last?.body ?? Buffer.alloc(0)) as { title: string }).title, "Survivor")
})
