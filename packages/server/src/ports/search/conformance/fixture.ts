/** What the conformance tests share. */
import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import type { SearchDocument, SearchPort, SearchQuery } from "../port.ts"

/** An engine in which the owners of the test have nothing, closed after the test. */
export type OpenSearch = (t: TestContext) => Promise<SearchPort>

export const SOURCE = "00000000-0000-7000-8000-00000000000a"
export const OTHER_SOURCE = "00000000-0000-7000-8000-00000000000b"

export const document = (
  id: string,
  text: string,
  rest: Partial<SearchDocument> & { weight?: 1 | 2 | 3 | 4 } = {},
): SearchDocument => {
  const { title = "", weight = 1, ...others } = rest
  return {
    sourceId: SOURCE,
    id,
    title,
    parts: [
      { text: title, weight: 4 },
      { text, weight },
    ],
    body: text,
    url: null,
    metadata: {},
    language: "english",
    boost: 1,
    updatedAt: new Date(Date.UTC(2027, 0, 1)),
    ...others,
  }
}

export const query = (text: string, rest: Partial<SearchQuery> = {}): SearchQuery => ({
  text,
  language: undefined,
  sourceId: undefined,
  withoutSources: [],
  filter: [],
  facets: [],
  facetValuesMax: 20,
  highlight: true,
  limit: 20,
  offset: 0,
  ...rest,
})

/** Ids in the order of the hits. */
export const idsOf = async (
  port: SearchPort,
  owner: string,
  text: string,
  rest: Partial<SearchQuery> = {},
): Promise<string[]> => (await port.search(owner, query(text, rest))).hits.map(({ id }) => id)

/** That these are found, in whatever order. */
export const finds = async (
  port: SearchPort,
  owner: string,
  text: string,
  ids: readonly string[],
  rest: Partial<SearchQuery> = {},
): Promise<void> => {
  const { hits, total } = await port.search(owner, query(text, rest))
  assert.deepEqual(hits.map(({ id }) => id).sort(), [...ids].sort(), text)
  assert.equal(total, ids.length, text)
}
