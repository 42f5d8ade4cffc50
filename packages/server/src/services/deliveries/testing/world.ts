/** The engine alone, over a database of its own. Its endpoints are functions of the test; processes share the database. */

import { createAtRest } from "../../../core/secrets/at-rest.ts"
import type { SecretBox } from "../../../core/secrets/secret-box.ts"
import { listenForChanges } from "../../../kernel/db/changes.ts"
import { openDatabase } from "../../../kernel/db/database.ts"
import { createDatabaseFanout } from "../../../kernel/db/fanout.ts"
import { newId } from "../../../kernel/id.ts"
import type { Jobs } from "../../../kernel/jobs/jobs.ts"
import { createLog } from "../../../kernel/log.ts"
import type { Outbound } from "../../../kernel/outbound/outbound.ts"
import { createTestClock } from "../../../testing/clock.ts"
import { cloneDatabase } from "../../../testing/database.ts"
import type { Ends } from "../../../testing/ends.ts"
import type { Endpoint, Invocation, InvocationAnswer, NewMessage, Recipient } from "../deliveries.ts"
import { openDeliveries } from "../open.ts"

export const KIND = "test"

export type Invoke = (call: Invocation) => Promise<InvocationAnswer>

/** One process of the engine, which has not begun to send. */
export const openEngine = async (connectionString: string, endpoints: ReadonlyMap<string, Endpoint>) => {
  const log = createLog("silent")
  const clock = createTestClock()
  const stack = new AsyncDisposableStack()
  const database = stack.use(openDatabase({ connectionString, connectionsMax: 4, onError: () => undefined }))
  const changes = stack.use(await listenForChanges(connectionString, log))
  const running = stack.use(
    openDeliveries({
      database,
      changes,
      fanout: createDatabaseFanout(database.db, changes),
      clock,
      log,
      delayFactor: 1,
      atRest: createAtRest({} as SecretBox, false),
      // Everything goes to functions.
      outbound: {} as Outbound,
      meters: { count: () => undefined },
      jobs: { schedule: () => undefined } as unknown as Jobs,
      metrics: { collect: () => undefined },
    }),
  )
  running.deliveries.define({ name: KIND, resolve: async () => endpoints, disable: async () => undefined })
  return {
    deliveries: running.deliveries,
    database,
    clock,
    start: running.start,
    drain: running.drain,
    /** As far as others can tell, it is killed: it holds what it had, and does nothing more. */
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export type Engine = Awaited<ReturnType<typeof openEngine>>

export const endpointOf = (invoke: Invoke): Endpoint => ({
  target: { name: "f", invoke },
  secrets: [],
})

export const succeed: Invoke = async () => ({ status: 200, body: "" })

/** The id of the event that an endpoint was told of. */
export const eventOf = ({ headers }: Invocation): string => headers["webhook-id"] ?? ""

export const messageTo = (
  tenantId: string,
  endpointId: string,
  recipient: Partial<Recipient> = {},
): NewMessage => ({
  id: `evt_${newId()}`,
  kind: KIND,
  tenantId,
  projectId: null,
  streamId: newId(),
  type: "t",
  source: null,
  topic: null,
  at: new Date(),
  data: "{}",
  recipients: [{ endpointId, maxRetries: 9, ...recipient }],
})

export const deliveryWorld = async (t: Ends) => {
  const stack = new AsyncDisposableStack()
  t.after(() => stack.disposeAsync())
  const { url } = stack.use(await cloneDatabase())
  const endpoints = new Map<string, Endpoint>()
  return {
    url,
    /** An endpoint for the test, told by calls of the function. */
    endpoint(invoke: Invoke): string {
      const id = newId()
      endpoints.set(id, endpointOf(invoke))
      return id
    },
    async process(): Promise<Engine> {
      const engine = stack.use(await openEngine(url, endpoints))
      engine.start()
      return engine
    },
  }
}
