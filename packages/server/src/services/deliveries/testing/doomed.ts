/** A process that enqueues for endpoints and sends to them until it is killed. Tells its parent of all it was sure of. */
import { endpointOf, eventOf, messageTo, openEngine } from "./world.ts"

const [url = "", tenantId = "", ...endpointIds] = process.argv.slice(2)

const tell = (news: { readonly kept?: readonly string[]; readonly told?: string }) =>
  new Promise<void>(resolve => process.send?.(news, () => resolve()))

const endpoint = endpointOf(async call => {
  await tell({ told: eventOf(call) })
  return { status: 200, body: "" }
})
const engine = await openEngine(url, new Map(endpointIds.map(id => [id, endpoint])))
engine.start()
for (;;) {
  const messages = Array.from({ length: 50 }, () => endpointIds.map(id => messageTo(tenantId, id))).flat()
  await engine.deliveries.enqueue(engine.database.db, messages)
  await tell({ kept: messages.map(({ id }) => id) })
}
