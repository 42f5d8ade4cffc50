/** The promises of `port.ts` as tests. Every driver passes all of them; those about data where the fixture has SQL. */
import { describe } from "node:test"
import { branchTests, pointTests } from "./conformance/copies.ts"
import { dataTests, passwordTests } from "./conformance/data.ts"
import type { OpenEngine } from "./conformance/fixture.ts"
import { lifeTests, wakeTests } from "./conformance/life.ts"

const promises = [lifeTests, wakeTests, dataTests, passwordTests, branchTests, pointTests]

export const engineConformance = (driver: string, open: OpenEngine): void => {
  describe(`${driver} keeps the promises of the engine port`, () => {
    for (const register of promises) register(open)
  })
}
