/** What requests have in common whose price is known before they are sent. */
import type { Clock } from "../../kernel/clock.ts"
import { checkStatus } from "./answer.ts"
import type { Candidate } from "./catalog.ts"
import type { Estimate } from "./gateway.ts"
import type { Flight, UpstreamClient } from "./upstream-client.ts"

/** No more and no less is reserved. */
export const fixed = (nanos: number): Estimate => ({ inputNanos: nanos, leastNanos: nanos, mostNanos: nanos })

/** Posts to an upstream, whose answer has a status of success. */
export const createPost =
  (client: UpstreamClient, clock: Clock) =>
  async (
    { upstream }: Candidate,
    flight: Flight,
    path: string,
    body: string | Uint8Array,
    contentType?: string,
  ) => {
    const request = { method: "POST" as const, path, body, ...(contentType !== undefined && { contentType }) }
    const answer = await client.send(upstream, request, flight)
    await checkStatus(answer, flight, clock.now())
    return answer
  }
