/** The promises of `port.ts` as tests. Every driver passes all of them. */
import { describe } from "node:test"
import type { Suite } from "./conformance/fixture.ts"
import { ownerTests, rangeTests, streamTests } from "./conformance/reads.ts"
import { lifeTests, upkeepTests } from "./conformance/upkeep.ts"
import { samenessTests, sourceTests, wholenessTests } from "./conformance/writes.ts"

const promises = [
  wholenessTests,
  sourceTests,
  samenessTests,
  ownerTests,
  rangeTests,
  streamTests,
  upkeepTests,
  lifeTests,
]

export const blobConformance = (driver: string, suite: Suite): void => {
  describe(`${driver} keeps the promises of the blob port`, () => {
    for (const register of promises) register(suite)
  })
}
