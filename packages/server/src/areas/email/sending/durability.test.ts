import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"
import { dataFolder, killPostgres, readFirstRun, spawnSvc } from "../../../testing/process.ts"
import { startSmtp } from "../../../testing/smtp.ts"

const MAILS = 60
/** Long enough to be killed before it, on a slow machine too. */
const LEAVES_AFTER_MS = 30_000

test("mails that were accepted survive the end of every process, and go out once each", async t => {
  const sink = await startSmtp(t)
  const dataDir = dataFolder(t)
  const env = { SVC_SMTP_URL: sink.url }
  const first = spawnSvc(t, { dataDir, env })
  const baseUrl = await first.ready
  const { email } = createSvc({ baseUrl, apiKey: readFirstRun(dataDir).api_key, retries: 0 })
  const scheduled_at = new Date(Date.now() + LEAVES_AFTER_MS).toISOString()
  const addresses = Array.from({ length: MAILS }, (_, at) => `a${at}@example.com`)
  const told: string[] = []
  await Promise.all(
    addresses.map(async to => {
      try {
        const { status } = await email.sendRaw({ to, subject: "s", text: "t", scheduled_at })
        assert.equal(status, "scheduled")
        told.push(to)
      } catch {
        return
      }
      if (told.length < MAILS / 2) return
      first.signal("SIGKILL")
    }),
  )
  await first.exited
  killPostgres(dataDir)
  assert.equal(sink.mails.length, 0)

  const second = spawnSvc(t, { dataDir, env })
  const svc = createSvc({ baseUrl: await second.ready, apiKey: readFirstRun(dataDir).api_key })
  const { total } = await svc.email.listMessages({})
  assert.ok(total >= told.length)
  await eventually("all have left", async () => sink.mails.length >= total)
  await eventually("all are delivered", async () => {
    const { data } = await svc.email.listMessages({ limit: MAILS })
    return data.every(({ status }) => status === "delivered")
  })
  const got = sink.mails.map(({ recipients }) => recipients[0])
  assert.equal(new Set(got).size, got.length)
  for (const to of told) assert.ok(got.includes(to), to)
})
