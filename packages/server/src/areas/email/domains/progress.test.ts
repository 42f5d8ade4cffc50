import assert from "node:assert/strict"
import { test } from "node:test"
import { dnsRecordNames } from "@svc/contract"
import fc from "fast-check"
import type { Judgement } from "./judge.ts"
import { type DomainState, type Findings, progressOf, restarted } from "./progress.ts"

const HOUR_MS = 3_600_000
const start = new Date("2026-11-20T00:00:00Z")
const after = (hours: number) => new Date(start.getTime() + hours * HOUR_MS)

const found = (status: Judgement["status"]): Judgement => ({ status, found: [], error: null })

const findings = (
  statuses: Partial<Record<(typeof dnsRecordNames)[number], Judgement["status"]>>,
): Findings => Object.fromEntries(dnsRecordNames.map(name => [name, found(statuses[name] ?? "verified")]))

const fresh: DomainState = {
  ...{ status: "not_started", findings: {}, ownership_proven: false },
  ...{ checking_since: start, checks: 0, verified_at: null },
}

const none = findings(Object.fromEntries(dnsRecordNames.map(name => [name, "pending"])))
const all = findings({})

test("checks come after 1, 5, 15 and 60 minutes, then hourly, and end after three days", () => {
  let state = fresh
  let at = new Date(start.getTime() + 60_000)
  const delays: number[] = []
  for (;;) {
    const progress = progressOf(state, none, at)
    state = progress
    if (!progress.next_check_at) break
    delays.push((progress.next_check_at.getTime() - at.getTime()) / 60_000)
    at = progress.next_check_at
  }
  assert.deepEqual(delays.slice(0, 5), [5, 15, 60, 60, 60])
  assert.equal(state.status, "failed")
  assert.equal(at.getTime() - start.getTime() >= 72 * HOUR_MS, true)
  assert.equal(delays.length < 76, true)
  const anew = progressOf(restarted(state, after(100)), all, after(100))
  assert.equal(anew.status, "verified")
})

test("a verified domain outlives servers that do not answer, and for three days records that are gone", () => {
  const verified = progressOf(fresh, all, after(1))
  const silent = findings(Object.fromEntries(dnsRecordNames.map(name => [name, "temporary_failure"])))
  const unheard = progressOf(verified, silent, after(200))
  assert.deepEqual([unheard.status, unheard.ownership_proven], ["verified", true])
  assert.equal(unheard.findings.DKIM?.status, "verified")

  const early = progressOf(verified, findings({ DKIM: "pending" }), after(10))
  assert.equal(early.status, "verified")
  const late = progressOf(early, findings({ DKIM: "pending" }), after(80))
  assert.deepEqual([late.status, late.verified_at], ["failed", null])
  assert.equal(progressOf(early, all, after(20)).status, "verified")
})

test("the token may go once our key is there; with both gone the claim is free at once", () => {
  const verified = progressOf(fresh, all, after(1))
  assert.equal(progressOf(verified, findings({ OWNERSHIP: "pending" }), after(30)).ownership_proven, true)
  const gone = findings({ OWNERSHIP: "pending", DKIM: "pending" })
  assert.equal(progressOf(verified, gone, after(30)).ownership_proven, false)
  // A key alone, without ever having had the token, proves nothing.
  assert.equal(progressOf(fresh, findings({ OWNERSHIP: "pending" }), after(1)).ownership_proven, false)
})

test("no findings verify a domain whose owner never proved it", () => {
  const status = fc.constantFrom<Judgement["status"]>("pending", "verified", "failed", "temporary_failure")
  const arbitrary = fc.record(Object.fromEntries(dnsRecordNames.map(name => [name, status])))
  fc.assert(
    fc.property(fc.array(arbitrary, { maxLength: 6 }), rounds => {
      let state: DomainState = fresh
      for (const [at, round] of rounds.entries()) {
        state = progressOf(state, findings({ ...round, OWNERSHIP: "failed" }), after(at))
        assert.notEqual(state.status, "verified")
        assert.equal(state.ownership_proven, false)
      }
    }),
  )
})
