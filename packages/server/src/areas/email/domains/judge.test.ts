import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import type { DnsRecordName } from "@svc/contract"
import fc from "fast-check"
import { createDns } from "../../../ports/dns/resolver.ts"
import { type DnsAnswer, startDns } from "../../../testing/dns.ts"
import { stringsOf } from "../testing/delivery-world.ts"
import { dmarcNames, judge, lookWith } from "./judge.ts"
import { readDomain } from "./names.ts"
import { wantedRecords } from "./records.ts"

const DOMAIN = "mail.example.com"
const KEY = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA".repeat(8)

const wanted = wantedRecords(
  {
    ...{ domain: DOMAIN, return_path: "bounce", tracking_subdomain: "track", ownership_token: "a1b2" },
    ...{ dkim_selector: "svc1", dkim_public_key: KEY },
  },
  { mailHost: "mx.svc.test", spfTerms: "include:spf.svc.test", trackingHost: "links.svc.test" },
)

const text = (...data: string[]): DnsAnswer => data.map(value => ({ type: "TXT", data: stringsOf(value) }))

/** What becomes of one record when its name answers this. */
const judgeWith = async (
  t: TestContext,
  record: DnsRecordName,
  answer: DnsAnswer,
  others: Record<string, DnsAnswer> = {},
) => {
  const dns = await startDns(t)
  const found = wanted.find(candidate => candidate.record === record)
  assert.ok(found)
  dns.answer(found.name, answer)
  for (const [name, other] of Object.entries(others)) dns.answer(name, other)
  const port = createDns({ servers: [dns.address], asksZones: false, mayAsk: () => true })
  return judge(found, lookWith(port, new AbortController().signal))
}

const cases: readonly [DnsRecordName, string, DnsAnswer, string, RegExp | null][] = [
  ["OWNERSHIP", "the token", text("svc-domain-verification=a1b2"), "verified", null],
  ["OWNERSHIP", "it among others", text("x=1", "SVC-domain-verification=A1B2"), "verified", null],
  ["OWNERSHIP", "another's token", text("svc-domain-verification=ffff"), "failed", /organization/],
  ["OWNERSHIP", "nothing", [], "pending", /no TXT record/],
  ["OWNERSHIP", "a broken server", "fail", "temporary_failure", /did not answer/],
  ["DKIM", "the key", text(`v=DKIM1; k=rsa; p=${KEY}`), "verified", null],
  [
    "DKIM",
    "it with spaces, and no version",
    text(`p=${KEY.slice(0, 50)} ${KEY.slice(50)};`),
    "verified",
    null,
  ],
  ["DKIM", "another key", text(`v=DKIM1; p=${KEY.toLowerCase()}`), "failed", /another/],
  ["DKIM", "a part of the key", text(`v=DKIM1; p=${KEY.slice(0, 200)}`), "failed", /cut off/],
  ["DKIM", "a revoked key", text("v=DKIM1; p="), "failed", /revokes/],
  ["DKIM", "no key", text("v=DKIM1"), "failed", /no key/],
  ["DKIM", "a tag twice", text(`p=${KEY}; p=x`), "failed", /twice/],
  ["DKIM", "another type of key", text(`k=ed25519; p=${KEY}`), "failed", /not rsa/],
  ["DKIM", "two records", text(`p=${KEY}`, `p=${KEY}`), "failed", /several/],
  ["RETURN_PATH", "our host", [{ type: "MX", data: "MX.svc.test", priority: 5 }], "verified", null],
  [
    "RETURN_PATH",
    "another host",
    [{ type: "MX", data: "mx.other.test", priority: 10 }],
    "failed",
    /points at/,
  ],
  [
    ...(["RETURN_PATH", "ours and another"] as const),
    [
      { type: "MX", data: "mx.svc.test", priority: 10 },
      { type: "MX", data: "mx.other.test", priority: 20 },
    ],
    ...(["failed", /lost/] as const),
  ],
  ["SPF", "our terms", text("v=spf1 include:spf.svc.test ~all"), "verified", null],
  ["SPF", "it beside other text", text("x", "V=SPF1 a Include:spf.svc.test -all"), "verified", null],
  ["SPF", "two records", text("v=spf1 include:spf.svc.test", "v=spf1 -all"), "failed", /exactly one/],
  ["SPF", "none of ours", text("v=spf1 include:other.test ~all"), "failed", /lacks include:spf/],
  ["SPF", "our term after all", text("v=spf1 ~all include:spf.svc.test"), "failed", /never read/],
  ["SPF", "no record", text("v=spf10 x"), "pending", /no record/],
  [
    ...(["SPF", "eleven lookups"] as const),
    text(`v=spf1 include:spf.svc.test ${"a:x.test ".repeat(10)}~all`),
    ...(["failed", /lookups/] as const),
  ],
  ["DMARC", "a policy", text("v=DMARC1; p=none"), "verified", null],
  ["DMARC", "two policies", text("v=DMARC1; p=none", "v=DMARC1; p=reject"), "failed", /several/],
  ["DMARC", "no p", text("v=DMARC1; rua=mailto:a@b.c"), "failed", /no p=/],
  ["DMARC", "nothing", [], "pending", /Neither/],
  ["DMARC", "a broken server", "fail", "temporary_failure", /did not answer/],
  ["TRACKING", "our host", [{ type: "CNAME", data: "links.svc.test" }], "verified", null],
  ["TRACKING", "another host", [{ type: "CNAME", data: "evil.test" }], "failed", /alias/],
]

for (const [record, what, answer, status, error] of cases) {
  test(`${record} with ${what} is ${status}`, async t => {
    const judgement = await judgeWith(t, record, answer)
    assert.equal(judgement.status, status)
    if (error) assert.match(judgement.error ?? "", error)
    else assert.equal(judgement.error, null)
  })
}

test("lookups of included SPF records count, and records that include each other end", async t => {
  const own = text("v=spf1 include:spf.svc.test ~all")
  const many = { "spf.svc.test": text(`v=spf1 ${"mx:x.test ".repeat(10)}-all`) }
  assert.equal((await judgeWith(t, "SPF", own, many)).status, "failed")
  const few = { "spf.svc.test": text(`v=spf1 ${"mx:x.test ".repeat(9)}-all`) }
  assert.equal((await judgeWith(t, "SPF", own, few)).status, "verified")
  const circle = { "spf.svc.test": text("v=spf1 include:spf.svc.test -all") }
  assert.equal((await judgeWith(t, "SPF", own, circle)).status, "failed")
})

test("the policy of the organization's domain counts for those below it", async t => {
  const above = { "_dmarc.example.com": text("v=DMARC1; p=reject") }
  assert.equal((await judgeWith(t, "DMARC", [], above)).status, "verified")
  assert.deepEqual(dmarcNames("a.b.example.com").slice(-1), ["_dmarc.example.com"])
  assert.equal(dmarcNames(`${"x.".repeat(30)}example.com`).length, 8)
})

test("a domain is a domain, however it is written, and nothing else is", () => {
  fc.assert(
    fc.property(fc.domain(), domain => {
      if (domain.length <= 200) assert.equal(readDomain(`${domain.toUpperCase()}.`), domain.toLowerCase())
    }),
  )
  fc.assert(
    fc.property(fc.string(), noise => {
      const domain = readDomain(noise)
      if (domain !== undefined) assert.match(domain, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/)
    }),
  )
})
