/** What the tests of search share. */
import assert from "node:assert/strict"
import { setTimeout as delay } from "node:timers/promises"
import { type Svc, SvcError } from "@svc/sdk"

export const READ_AND_WRITE = ["search:read", "search:write"] as const

export const refusedAs = (code: string) => (error: unknown) =>
  error instanceof SvcError && error.code === code

export const inline = async (svc: Svc, name = "handbook") =>
  (await svc.search.upsertSource({ name, type: "inline" })).id

export const foundIds = async (svc: Svc, q: string, rest: Record<string, unknown> = {}) =>
  (await svc.search.query({ q, ...rest })).hits.map(({ id }) => id).sort()

/** Waits until the run has ended, for a minute at most. */
export const ended = async (svc: Svc, id: string) => {
  const deadline = Date.now() + 60_000
  for (;;) {
    const run = await svc.search.getRun({ id })
    if (run.status === "succeeded" || run.status === "failed") return run
    assert.ok(Date.now() < deadline, `the run is still ${run.status}`)
    await delay(20)
  }
}
