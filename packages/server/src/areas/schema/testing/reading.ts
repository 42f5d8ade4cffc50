/** Reads a bare instance's schema as the area does: logged in as the reader, through the handlers themselves. */
import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import type { areas, Input, Output } from "@svc/contract"
import { Value } from "typebox/value"
import type { Call } from "../../../kernel/call.ts"
import { close } from "../../../kernel/validation.ts"
import { OWNER_ROLE, READER_ROLE } from "../../../ports/engine/port.ts"
import type { Sessions } from "../../../services/postgres/sessions.ts"
import type { Target } from "../../../services/postgres/target.ts"
import { createTestClock } from "../../../testing/clock.ts"
import type { TestCluster } from "../../../testing/cluster.ts"
import { schemaHandlers } from "../handlers.ts"

/** The owner's connections. Nothing archives a bare instance, so a commit must not wait for it. */
export const asOwner = (cluster: TestCluster) =>
  cluster.pool(OWNER_ROLE, { options: "-c synchronous_commit=local" })

type Specs = typeof areas.schema.specs
type Reader = {
  readonly [Name in keyof Specs]: (input?: Partial<Input<Specs[Name]>>) => Promise<Output<Specs[Name]>>
}

export interface Reading extends Reader {
  /** Seconds that pass with every look at the clock. */
  clockStepMs: number
}

const NOBODY = "00000000-0000-7000-8000-000000000000"

const target: Target = {
  organizationId: NOBODY,
  projectId: NOBODY,
  databaseId: NOBODY,
  branchId: NOBODY,
  volume: { id: NOBODY, pgVersion: 18, tier: "shared" },
}

/** The operations of the area on the cluster's database. Each reply is held against its declaration. */
export const reading = (t: TestContext, cluster: TestCluster): Reading => {
  const pool = cluster.pool(READER_ROLE, { max: 2 })
  const sessions: Sessions = {
    async use(_target, role, work) {
      assert.equal(role, "reader")
      const client = await pool.connect()
      try {
        return await work({ client, wakeMs: 0 })
      } finally {
        await client.query("DISCARD ALL")
        client.release()
      }
    },
  }
  const clock = createTestClock()
  const settings = { clockStepMs: 0 }
  const ticking = {
    ...clock,
    now: () => {
      void clock.advance(settings.clockStepMs)
      return clock.now()
    },
  }
  const bound = schemaHandlers({ targets: { of: async () => target }, sessions, clock: ticking })
  const call = { signal: t.signal } as Call
  const operations = Object.fromEntries(
    bound.map(({ operation, handler }) => [
      operation.key,
      async (input: Record<string, unknown> = {}) => {
        const output = await handler(input, call)
        const schema = close(operation.replies[200])
        const [error] = Value.Errors(schema as never, output)
        assert.equal(error, undefined, `${operation.name}: ${JSON.stringify(error)}`)
        return output
      },
    ]),
  ) as unknown as Reader
  return Object.assign(settings, operations)
}
