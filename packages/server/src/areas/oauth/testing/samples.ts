/** Valid inputs of the OAuth routes, for the tests that hold for every operation. */
import type { Sample, Unsampled } from "../../../testing/sample-world.ts"

export const samples = {} satisfies Readonly<Record<string, Sample>>

const PUBLIC = "public: there is no caller yet to remember an Idempotency-Key for"

export const unsampled = { "oauth.register": PUBLIC } satisfies Unsampled
