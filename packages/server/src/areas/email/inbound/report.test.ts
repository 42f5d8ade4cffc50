import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { arf, reports } from "../testing/reports.ts"
import { readReport } from "./report.ts"

const PATH = `bounce+${"0123456789abcdef".repeat(2)}.${"ab".repeat(10)}@bounce.mail.example.com`

const read = async (text: string, isFromNobody = true) =>
  (await readReport(Buffer.from(text), isFromNobody)).report

const outline = async (text: string) => {
  const report = await read(text)
  return report && report.kind !== "complaint"
    ? [report.kind, report.enhancedCode, report.code]
    : report?.kind
}

test("reports of many makes of server say the same", async () => {
  assert.deepEqual(await outline(reports.postfix), ["failed", "5.1.1", 550])
  assert.deepEqual(await outline(reports.exchange), ["failed", "5.1.10", 550])
  assert.deepEqual(await outline(reports.sendmail), ["failed", "5.1.1", 550])
  assert.deepEqual(await outline(reports.international), ["failed", "5.1.1", null])
  assert.deepEqual(await outline(reports.full), ["failed", "5.2.2", 552])
  assert.deepEqual(await outline(reports.delayed), ["delayed", "4.4.1", 451])
  assert.deepEqual(await outline(reports.qmail), ["failed", "5.1.1", 550])
  const report = await read(reports.postfix)
  assert.match(report && "response" in report ? report.response : "", /address {1,}rejected: User unknown$/)
})

test("what a report quotes can be kept: bounded, and with no character that a database refuses", async () => {
  const long = reports.postfix.replace("User unknown", `a\0b ${"😀".repeat(400)}`)
  const report = await read(
    long.replace("dns; mx.example.org\r\nDiagnostic", `dns; ${"m".repeat(2_000)}\r\nDiagnostic`),
  )
  assert.ok(report && report.kind !== "complaint")
  for (const text of [report.response, report.host ?? ""]) {
    assert.ok(text.length > 400 && text.length <= 500 && text.isWellFormed() && !text.includes("\0"), text)
  }
})

test("what is no failure is none, and a person's answer is not read for one", async () => {
  assert.equal(await outline(reports.delivered), undefined)
  assert.equal(await read(reports.absence, false), undefined)
  assert.equal(await read(reports.qmail, false), undefined)
})

test("a complaint is told with the return path that it quotes; what is not one is not", async () => {
  for (const kind of ["abuse", "fraud", "opt-out"]) {
    const { report, quotedPaths } = await readReport(Buffer.from(arf(kind, PATH)), false)
    assert.deepEqual(report, { kind: "complaint", feedbackType: kind, userAgent: "ExampleLoop/1.0" })
    assert.deepEqual(quotedPaths, [PATH])
  }
  assert.equal(await read(arf("not-spam", PATH)), undefined)
})

test("no noise makes the reader throw anything but its own refusal, or take long", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async bytes => {
      await readReport(bytes, true)
    }),
    { numRuns: 200 },
  )
  const deep = Array.from(
    { length: 500 },
    (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
  )
  await readReport(Buffer.from(deep.join("")), true).catch(() => undefined)
  await readReport(Buffer.from(`${"From: a\r\n".repeat(20_000)}\r\nx`), true).catch(() => undefined)
})
