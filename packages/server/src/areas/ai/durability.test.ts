import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { startAiUpstream } from "../../testing/ai-upstream.ts"
import { cloneDatabase } from "../../testing/database.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { readFirstRun, spawnSvc } from "../../testing/process.ts"
import { RESERVATION_MS } from "./ledger.ts"
import { MESSAGES, upstreamsFile } from "./testing/world.ts"

const STREAMS = 50
/** What one whole answer costs: ten tokens of input for a micro each, nine of the output for ten. */
const COST_MICROS = 100

test("after a kill amid 50 streams every reservation ends at its expiry, and all money is accounted for", async t => {
  const database = await cloneDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const upstream = await startAiUpstream(t)
  const file = await upstreamsFile(t, { only: { base_url: upstream.url } })
  const svc = spawnSvc(t, {
    env: {
      SVC_DATABASE_URL: database.url,
      SVC_MASTER_KEY: Buffer.alloc(32, "test").toString("base64"),
      SVC_AI_UPSTREAMS: file,
      SVC_RUNTIME: "process",
      SVC_WORKLOAD_NETWORK: "none",
      SVC_POSTGRES_PORT: "0",
      SVC_SSH_PORT: "off",
    },
  })
  const baseUrl = await svc.ready
  const { api_key: apiKey } = readFirstRun(svc.dataDir)
  const client = createSvc({ apiKey, baseUrl })
  const chat = () =>
    fetch(`${baseUrl}/v1/ai/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-test", messages: MESSAGES, stream: true, max_tokens: 100 }),
    })
  await (await chat()).text()
  await eventually("the first is settled", async () => (await client.ai.budget({})).reserved_micros === 0)

  upstream.always({ holdAfter: { chunks: 3, until: new Promise(() => undefined) } })
  const streams = await Promise.all(Array.from({ length: STREAMS }, chat))
  const during = await client.ai.budget({})
  assert.equal(during.spent_micros, COST_MICROS)
  assert.ok(during.reserved_micros >= STREAMS * 1_000)
  svc.signal("SIGKILL")
  await svc.exited
  await Promise.all(streams.map(stream => stream.text().catch(() => undefined)))

  const second = await platform(t, { databaseUrl: database.url, env: { SVC_AI_UPSTREAMS: file } })
  const after = () => second.as(apiKey).ai.budget({})
  assert.equal((await after()).reserved_micros, during.reserved_micros, "nothing is lost")
  await second.clock.advance(RESERVATION_MS + 120_000)
  await eventually("no reservation outlives its expiry", async () => (await after()).reserved_micros === 0)
  const { spent_micros } = await after()
  // Each is owed for its input at least, as one that the caller left.
  const each = (spent_micros - COST_MICROS) / STREAMS
  assert.ok(each >= 10 && each < 100, `${each}`)
  const { rows } = await second.database.pool.query("SELECT count(*)::int AS count FROM ai.reservations")
  assert.equal(rows[0].count, 0)
})
