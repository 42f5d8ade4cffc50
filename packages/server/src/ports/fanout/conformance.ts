/** The promises of `port.ts`, as tests over every driver, and over what the kernel does with PostgreSQL alone. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { type TestContext, test } from "node:test"
import type { Fanout } from "../../kernel/fanout.ts"
import { eventually } from "../../testing/eventually.ts"

type Heard = readonly string[] | undefined

export const listenTo = (fanout: Fanout, topic: string): Heard[] => {
  const heard: Heard[] = []
  fanout.subscribe(topic, ids => heard.push(ids))
  return heard
}

const idsOf = (heard: readonly Heard[]) => heard.filter(ids => ids !== undefined)

export interface Engine {
  /** One more process of the same installation, which hears already. */
  open(t: TestContext): Promise<Fanout>
}

export const fanoutConformance = (name: string, { open }: Engine, options: { skip?: string | undefined }) => {
  const skip = options.skip ?? false

  test(`${name}: every process hears what one tells, itself included, once and in order`, {
    skip,
  }, async t => {
    const [teller, other] = [await open(t), await open(t)]
    const heards = [listenTo(teller, "lanes.work"), listenTo(other, "lanes.work")]
    const elsewhere = listenTo(other, "lanes")
    const news = Array.from({ length: 50 }, () => [randomUUID(), randomUUID()])
    for (const ids of news) await teller.tell("lanes.work", ids)
    for (const heard of heards) {
      await eventually("everything is heard", () => idsOf(heard).length >= news.length)
      assert.deepEqual(idsOf(heard), news)
    }
    assert.deepEqual(idsOf(elsewhere), [])
  })

  test(`${name}: as many ids as may go at once arrive as they are`, { skip }, async t => {
    const fanout = await open(t)
    const heard = listenTo(fanout, "many")
    const ids = Array.from({ length: 200 }, () => randomUUID())
    await fanout.tell("many", ids)
    await eventually("they are heard", () => idsOf(heard).length > 0)
    assert.deepEqual(idsOf(heard), [ids])
  })
}
