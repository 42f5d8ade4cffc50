/** What mail costs: accepted over HTTP, and carried to a server of this machine, signed and not. */
import { rmSync } from "node:fs"
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { createSvc, type Svc } from "../../packages/sdk/src/index.ts"
import { type DnsAnswer, startDns } from "../../packages/server/src/testing/dns.ts"
import { freePort } from "../../packages/server/src/testing/ports.ts"
import { type SmtpSink, startSmtp } from "../../packages/server/src/testing/smtp.ts"
import { type Part, printFigures } from "./figures.ts"
import { load } from "./load.ts"
import { apiKeyOf, makeDataDir, start, stop } from "./platform.ts"

const PORT = await freePort()
const MAILS = 500
const RECIPIENTS = 50
const ACCEPT_SECONDS = 4
const CONNECTIONS = 32
const AHEAD_MS = 6_000
const DOMAIN = "mail.bench.test"
const TEXT = "A text of about a kilobyte. ".repeat(36)

const baseUrl = `http://127.0.0.1:${PORT}`

const verify = async (svc: Svc, dns: { answer(name: string, answer: DnsAnswer): void }): Promise<void> => {
  const { id, records } = await svc.email.addDomain({ domain: DOMAIN })
  for (const [name, together] of Map.groupBy(records, record => record.name)) {
    const answers = together.map(({ type, value, priority }) => {
      if (type === "MX") return { type, data: value, priority: priority ?? 0 }
      return type === "TXT" ? { type, data: value.match(/.{1,255}/g) ?? [] } : { type, data: value }
    })
    dns.answer(name, answers as DnsAnswer)
  }
  await svc.email.updateSettings({ own_domain_delivery_enabled: true })
  const { status } = await svc.email.verifyDomain({ id })
  if (status !== "verified") throw new Error(`the domain is ${status}`)
}

/** Mails that all fall due at once; from the first that arrives to the last. Each recipient is a mail of its own. */
const carried = async (svc: Svc, sink: SmtpSink, from: string | undefined): Promise<number> => {
  const before = sink.mails.length
  const scheduled_at = new Date(Date.now() + AHEAD_MS).toISOString()
  for (let at = 0; at < MAILS; at += RECIPIENTS) {
    const to = Array.from({ length: RECIPIENTS }, (_, n) => `a${at}@d${n}.example`)
    await svc.email.sendRaw({ to, subject: `Mail ${at}`, text: TEXT, scheduled_at, ...(from && { from }) })
  }
  if (sink.mails.length > before) throw new Error("mails left while others were still being accepted")
  await sink.received(before + 1)
  const fromMs = performance.now()
  while (sink.mails.length < before + MAILS) await delay(5)
  return Math.round((MAILS * 1000) / (performance.now() - fromMs))
}

/** On a platform of its own, which has a relay and name servers. */
export const emailFigures: Part = async tell => {
  await using ends = new AsyncDisposableStack()
  const after = (end: () => unknown) => ends.defer(async () => void (await end()))
  const dns = await startDns({ after })
  const sink = await startSmtp({ after })
  const dataDir = makeDataDir()
  after(() => rmSync(dataDir, { recursive: true, force: true }))
  const env = {
    ...{ SVC_SMTP_URL: sink.url, SVC_DNS_SERVERS: dns.address, SVC_MAIL_HOST: "mx.bench.test" },
    ...{ SVC_MAIL_SPF: "include:spf.bench.test", SVC_TRACKING_HOST: "links.bench.test" },
  }
  const platform = await start(dataDir, env, PORT)
  after(() => stop(platform.process))
  const apiKey = apiKeyOf(dataDir)
  const svc = createSvc({ baseUrl, apiKey })
  await verify(svc, dns)
  tell({ plain_per_s: await carried(svc, sink, undefined) })
  tell({ signed_per_s: await carried(svc, sink, `hi@${DOMAIN}`) })
  const headers = { authorization: `Bearer ${apiKey}` }
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString()
  const body = { to: "a@d0.example", subject: "Hello", text: TEXT, scheduled_at }
  const url = `${baseUrl}/v1/email/send/raw`
  const accepted = await load({ url, headers, body }, CONNECTIONS, ACCEPT_SECONDS)
  tell({
    accepted_per_s: Math.round(accepted.requestsPerSecond),
    accept_p50_ms: accepted.p50Ms,
    accept_p99_ms: accepted.p99Ms,
  })
}

if (import.meta.main) await emailFigures(printFigures, "", 0)
