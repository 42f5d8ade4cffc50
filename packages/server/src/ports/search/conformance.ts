/** The promises of `port.ts` as tests. Every driver passes all of them. */
import { describe } from "node:test"
import { ownerTests, writeTests } from "./conformance/documents.ts"
import type { OpenSearch } from "./conformance/fixture.ts"
import { filterTests, matchTests, rankTests, snippetTests } from "./conformance/queries.ts"

export const searchConformance = (driver: string, open: OpenSearch): void => {
  describe(`${driver} keeps the promises of the search port`, () => {
    for (const register of [writeTests, ownerTests, matchTests, rankTests, snippetTests, filterTests]) {
      register(open)
    }
  })
}
