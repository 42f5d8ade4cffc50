/** What every driver of the push port promises, against a service that the test scripts. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import type { Push, PushContent, PushOutcome } from "./port.ts"

/** What the service says next, in its own words. */
export type Verdict = "taken" | "gone" | "refused" | "busy" | "broken"

export interface PushHarness {
  send(change: Pick<Push, "content" | "delivery">, signal: AbortSignal): Promise<PushOutcome>
  /** Answers to the next messages, in order; the last one stays. `busy` asks for two minutes. */
  script(...verdicts: readonly Verdict[]): void
  /** What the device would show of the last message that the service got. */
  shown(): { readonly title: string; readonly body: string }
  /** Everything the drivers were given that must not be told. */
  readonly secrets: readonly string[]
  /** From now on the service cannot be reached. */
  stop(): Promise<void>
}

const content: PushContent = {
  ...{ id: "0199f6c0-0000-7000-8000-000000000000", title: "Deployed", body: "web" },
  ...{ type: "deploy.done", category: "deploys", actionUrl: "/deploys/1", data: { a: 1 } },
}
const delivery = { ttlSeconds: 600, priority: "default", collapseKey: "web" } as const

export const pushConformance = (name: string, open: (t: TestContext) => Promise<PushHarness>): void => {
  const send = ({ send }: PushHarness, change: Partial<PushContent> = {}) =>
    send({ content: { ...content, ...change }, delivery }, AbortSignal.timeout(60_000))

  test(`${name}: a message that the service takes is sent`, async t => {
    const harness = await open(t)
    harness.script("taken")
    assert.equal((await send(harness)).kind, "sent")
    assert.deepEqual(harness.shown(), { title: "Deployed", body: "web" })
  })

  test(`${name}: a device that is gone, a message that is refused and a service that is busy are told apart`, async t => {
    const harness = await open(t)
    harness.script("gone", "refused", "busy", "taken")
    const outcomes = [await send(harness), await send(harness), await send(harness), await send(harness)]
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ["gone", "failed", "later", "sent"],
    )
    const [, , busy] = outcomes
    assert.equal(busy?.kind === "later" && busy.afterMs, 120_000)
    for (const secret of harness.secrets) assert.ok(!JSON.stringify(outcomes).includes(secret))
  })

  test(`${name}: a service that breaks off or is not there may be tried later`, async t => {
    const harness = await open(t)
    harness.script("broken", "taken")
    assert.equal((await send(harness)).kind, "later")
    assert.equal((await send(harness)).kind, "sent")
    await harness.stop()
    assert.equal((await send(harness)).kind, "later")
  })

  test(`${name}: content that is too long loses its data and the end of its body`, async t => {
    const harness = await open(t)
    harness.script("taken")
    const body = "€".repeat(4_000)
    assert.equal((await send(harness, { body, data: { text: "x".repeat(8_000) } })).kind, "sent")
    const shown = harness.shown()
    assert.equal(shown.title, "Deployed")
    assert.match(shown.body, /^€{200,}…$/)
  })
}
