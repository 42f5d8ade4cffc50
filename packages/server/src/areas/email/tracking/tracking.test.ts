import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { dkimVerify } from "mailauth/lib/dkim/verify.js"
import PostalMime from "postal-mime"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, uniqueName } from "../../../testing/platform.ts"
import { type ReceivedMail, startSmtp } from "../../../testing/smtp.ts"
import { type DeliveryWorld, deliveryWorld } from "../testing/delivery-world.ts"
import { createLinks } from "./links.ts"
import { addPicture, rewriteLinks } from "./rewrite.ts"
import { readReturnPath, readToken, returnPathLocal, signToken } from "./tokens.ts"

const PERSON = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/129 Safari/537.36"
const secret = Buffer.alloc(32, "secret")

/** Links as the platform makes them, with a secret that it knows. */
const linksOf = async ({ p, organizationId }: DeliveryWorld) => {
  const { db } = p.database
  const keys = { find: async () => secret, current: async () => secret }
  const links = createLinks({ db, keys, baseUrl: p.url, takesBounces: true })
  return { links, organizationId }
}

const get = (p: DeliveryWorld["p"], url: string, userAgent = PERSON) =>
  p.request(url.slice(p.url.length), { redirect: "manual", headers: { "user-agent": userAgent } })

const both = { opens: true, clicks: true }

/** Sends a mail with one link, and waits until it is in the mailbox of the installation. */
const sendTracked = async ({ svc }: DeliveryWorld, target: string, to = "ada@example.org") => {
  const name = uniqueName()
  const html = `<p><a href="${target.replaceAll("&", "&amp;")}">x</a></p>`
  await svc.email.createTemplate({ name, subject: "Hi", html, bulk: true })
  const { id } = await svc.email.sendTransactional({
    ...{ template: name, data: {}, to, track_opens: true, track_clicks: true },
  })
  const find = async () => (await svc.email.listInbox()).data.find(({ email_id }) => email_id === id)
  await eventually("the mail arrived", async () => (await find()) !== undefined)
  return { id, mail: await svc.email.getInbox({ id: (await find())?.id ?? "" }) }
}

test("rewriting touches http links of anchors alone, and no other byte", () => {
  const html =
    `<!DOCTYPE html><p>a &amp; b<A class=x HREF='http://a.test/?x=1&amp;y=2' id=1>t</A>` +
    `<a href=https://b.test>u</a><a href="mailto:x@y.z">m</a><a href="#top">n</a><a href="javascript:x">j</a>` +
    `<!-- <a href="http://no.test"> --><script>"<a href='http://no.test'>"</script>` +
    `<img src="http://c.test/i.png"><link href="http://d.test"><a href="/relative">r</a>`
  const seen: string[] = []
  const rewritten = rewriteLinks(html, url => {
    seen.push(url)
    return `https://t.test/?n=${seen.length}&"`
  })
  assert.deepEqual(seen, ["http://a.test/?x=1&y=2", "https://b.test"])
  const back = rewritten
    .replace(`href="https://t.test/?n=1&amp;&quot;"`, `HREF='http://a.test/?x=1&amp;y=2'`)
    .replace(`href="https://t.test/?n=2&amp;&quot;"`, "href=https://b.test")
  assert.equal(back, html)
  fc.assert(fc.property(fc.string(), text => assert.equal(rewriteLinks(text, url => url).length >= 0, true)))
  // A letter that is two in lower case moves nothing.
  for (const text of ["<body>x", "<body></body>İİ"])
    assert.equal(addPicture(`${text}</BODY></html>`, "u").indexOf("<img"), text.length)
  assert.equal(addPicture("x", "u").indexOf("<img"), 1)
})

test("a token says what it was signed for, and one changed bit makes it nobody's", () => {
  const recipient = {
    organizationId: "01234567-89ab-7def-8123-456789abcdef",
    recipientId: "01234567-89ab-7def-8123-fedcba987654",
  }
  const text = signToken(secret, "click", recipient, "https://example.com/ü?a=b")
  const token = readToken("click", text)
  assert.equal(token?.url, "https://example.com/ü?a=b")
  assert.equal(token.recipientId, recipient.recipientId)
  assert.equal(token.isSignedBy(secret), true)
  assert.equal(token.isSignedBy(Buffer.alloc(32)), false)
  assert.equal(readToken("unsubscribe", text), undefined)
  const bytes = Buffer.from(text, "base64url")
  fc.assert(
    fc.property(fc.integer({ min: 0, max: bytes.length * 8 - 1 }), bit => {
      const forged = Buffer.from(bytes)
      forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.notEqual(readToken("click", forged.toString("base64url"))?.isSignedBy(secret), true)
    }),
  )
  fc.assert(fc.property(fc.string(), noise => void readToken("open", noise)))

  const local = returnPathLocal(secret, recipient.recipientId)
  assert.equal(local.length <= 64, true)
  assert.equal(readReturnPath(local.toUpperCase())?.recipientId, recipient.recipientId)
  assert.equal(readReturnPath(local)?.isSignedBy(secret), true)
  assert.equal(readReturnPath(local)?.isSignedBy(Buffer.alloc(32)), false)
  assert.equal(readReturnPath("bounce+x.y"), undefined)
})

test("an open and a click are recorded, machines apart, and the click leads to its address", async t => {
  const world = await deliveryWorld(t)
  const { p, svc } = world
  const target = "https://example.com/a?b=c&d=e"
  const { id, mail } = await sendTracked(world, target)
  const html = mail.html ?? ""
  const [click = ""] = /http[^"]*\/v1\/email\/click\/[\w-]+/.exec(html) ?? []
  const [open = ""] = /http[^"]*\/v1\/email\/open\/[\w-]+/.exec(html) ?? []

  const picture = await get(p, open)
  assert.equal(picture.status, 200)
  assert.equal(picture.headers.get("content-type"), "image/gif")
  await get(p, open, "Mozilla/5.0")
  const followed = await get(p, click)
  assert.equal(followed.status, 302)
  assert.equal(followed.headers.get("location"), target)

  const opened = (await svc.email.listEvents({ email_id: id, event: "opened" })).data
  assert.deepEqual(opened.map(({ details }) => details.machine).sort(), [false, true])
  const [clicked] = (await svc.email.listEvents({ email_id: id, event: "clicked" })).data
  assert.deepEqual((clicked?.details.click as { link?: string } | undefined)?.link, target)
  const stats = await svc.email.stats()
  assert.deepEqual([stats.opened, stats.unique_opened, stats.clicked], [1, 1, 1])

  for (let n = 0; n < 60; n += 1) await get(p, open)
  assert.equal((await svc.email.listEvents({ email_id: id, event: "opened" })).total, 50)
})

test("a made-up link leads nowhere and tells nothing", async t => {
  const world = await deliveryWorld(t)
  const { p, svc, organizationId } = world
  const { emailId, recipientId } = await world.mail()
  const { links } = await linksOf(world)
  const forged = await links.track(
    { organizationId, recipientId },
    `<a href="https://evil.test/">x</a>`,
    both,
  )
  const [click = ""] = /http[^"]*\/click\/[\w-]+/.exec(forged) ?? []
  const [open = ""] = /http[^"]*\/open\/[\w-]+/.exec(forged) ?? []
  const headers = await links.unsubscribeHeaders({ organizationId, recipientId })
  const unsubscribe = headers["List-Unsubscribe"]?.slice(1, -1) ?? ""

  const refused = await get(p, click)
  assert.equal(refused.status, 404)
  assert.equal(refused.headers.get("location"), null)
  assert.equal((await get(p, `${p.url}/v1/email/click/x`)).status, 404)
  assert.equal((await get(p, unsubscribe)).status, 404)
  const path = unsubscribe.slice(p.url.length)
  assert.equal((await p.request(path, { method: "POST", body: "List-Unsubscribe=One-Click" })).status, 404)
  assert.equal((await get(p, open)).status, 200)
  assert.equal((await svc.email.listEvents({ email_id: emailId })).total, 0)
})

test("one request unsubscribes, looking at the link does not, and the address gets no more mail", async t => {
  const world = await deliveryWorld(t)
  const { p, svc } = world
  const { id, mail } = await sendTracked(world, "https://example.com/", "Grace@Example.org")
  const unfolded = mail.raw.replaceAll(/\r\n(?=[ \t])/g, "")
  const [, url = ""] = /^List-Unsubscribe: <([^>]+)>/im.exec(unfolded) ?? []
  assert.match(unfolded, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click/im)

  const page = await get(p, url)
  assert.equal(page.status, 200)
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/)
  assert.equal((await svc.email.listSuppression()).total, 0)

  for (let n = 0; n < 2; n += 1) {
    const done = await p.request(url.slice(p.url.length), {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "List-Unsubscribe=One-Click",
    })
    assert.equal(done.status, 200)
    await done.text()
  }
  const { data } = await svc.email.listSuppression({ email: "GRACE@example.org" })
  assert.deepEqual(
    data.map(({ email, reason, origin, source_email_id }) => [email, reason, origin, source_email_id]),
    [["grace@example.org", "unsubscribe", "recipient", id]],
  )
  assert.equal((await svc.email.listEvents({ email_id: id, event: "unsubscribed" })).total, 1)
  await p.clock.advance(1_000)
  const audited = await p.database.db
    .selectFrom("core.audit_events")
    .select(["action", "metadata"])
    .where("tenant_id", "=", world.organizationId)
    .where("action", "=", "email.unsubscribe")
    .execute()
  assert.deepEqual(
    audited.map(({ metadata }) => (metadata as { count: number }).count),
    [2],
  )
  const again = await svc.email.sendRaw({
    ...{ to: ["grace@example.org"], subject: "x", html: "<p>x</p>" },
  })
  assert.deepEqual(
    again.recipients.map(({ status }) => status),
    ["suppressed"],
  )
  const other = await p.wide("globex", ...everyScope)
  assert.equal((await other.email.listSuppression()).total, 0)
})

interface Arrived {
  readonly headers: ReadonlyMap<string, string>
  readonly click: string
  readonly open: string
  readonly unsubscribe: string
}

/** What a mail's server was given, as the recipient's program reads it. */
const readArrived = async ({ content }: ReceivedMail): Promise<Arrived> => {
  const { headers, html = "" } = await PostalMime.parse(content)
  const named = new Map(headers.map(({ key, value }) => [key, value]))
  assert.equal(named.size, headers.length)
  return {
    headers: named,
    click: /http[^"]*\/v1\/email\/click\/[\w-]+/.exec(html)?.[0] ?? "",
    open: /http[^"]*\/v1\/email\/open\/[\w-]+/.exec(html)?.[0] ?? "",
    unsubscribe: /^<([^>]+)>$/.exec(named.get("list-unsubscribe") ?? "")?.[1] ?? "",
  }
}

test("a bulk mail reaches a server with links of its recipient's own under the domain's name, signed", async t => {
  const sink = await startSmtp(t)
  const world = await deliveryWorld(t, { env: { SVC_SMTP_URL: sink.url } })
  const { p, svc } = world
  const { records } = await world.verifiedDomain("mail.example.com")
  const target = "https://example.com/a?b=c&d=e"
  const html = `<p><a href="${target.replaceAll("&", "&amp;")}">x</a></p>`
  await svc.email.createTemplate({ name: "news", subject: "News", html, bulk: true })
  const mail = { template: "news", from: "hi@mail.example.com", track_opens: true, track_clicks: true }
  const { id } = await svc.email.sendTransactional({ ...mail, to: ["ada@example.org", "bob@example.org"] })
  const received = await sink.received(2)
  const key = records.find(({ record }) => record === "DKIM")?.value ?? ""
  for (const { content } of received) {
    const { results } = await dkimVerify(content, { resolver: async () => [[key]] })
    assert.equal(results[0]?.status.result, "pass")
  }
  const arrived = await Promise.all(received.map(readArrived))
  assert.equal(new Set(arrived.flatMap(({ click, open, unsubscribe }) => [click, open, unsubscribe])).size, 6)
  const pathOf = (url: string) => new URL(url).pathname
  for (const { headers, click, open, unsubscribe } of arrived) {
    assert.equal(headers.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
    for (const name of ["list-unsubscribe", "list-unsubscribe-post"])
      assert.match(headers.get("dkim-signature") ?? "", new RegExp(`\\b${name}:`))
    for (const link of [click, open]) assert.equal(new URL(link).hostname, "track.mail.example.com")
    assert.equal(new URL(unsubscribe).hostname, "localhost")
    const followed = await get(p, `${p.url}${pathOf(click)}`)
    assert.deepEqual([followed.status, followed.headers.get("location")], [302, target])
    assert.equal((await get(p, `${p.url}${pathOf(open)}`)).status, 200)
    const body = "List-Unsubscribe=One-Click"
    assert.equal((await p.request(pathOf(unsubscribe), { method: "POST", body })).status, 200)
  }
  for (const event of ["opened", "clicked", "unsubscribed"] as const) {
    const { data } = await svc.email.listEvents({ email_id: id, event })
    assert.deepEqual(data.map(({ recipient }) => recipient).sort(), ["ada@example.org", "bob@example.org"])
  }
})

test("a mail that names its own way to unsubscribe has that one, and promises nothing of it", async t => {
  const sink = await startSmtp(t)
  const world = await deliveryWorld(t, { env: { SVC_SMTP_URL: sink.url } })
  const { svc } = world
  await svc.email.createTemplate({ name: "news", subject: "News", html: "<p>x</p>", bulk: true })
  await svc.email.sendTransactional({
    ...{ template: "news", to: "ada@example.org" },
    headers: { "list-unsubscribe": "<https://example.com/leave>" },
  })
  const [received] = await sink.received(1)
  assert.ok(received)
  const { headers, unsubscribe } = await readArrived(received)
  assert.equal(unsubscribe, "https://example.com/leave")
  assert.equal(headers.has("list-unsubscribe-post"), false)
})
