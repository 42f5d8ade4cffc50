/** Valid inputs of the operations of search, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"

const newSearchSource = async ({ key }: SampleWorld) =>
  (await key.search.upsertSource({ name: uniqueName(), type: "inline" })).id

/** A source of addresses none of which answers. */
const newUrlSource = async ({ key }: SampleWorld) => {
  const config = { urls: ["https://nowhere.invalid/"] }
  return (await key.search.upsertSource({ name: uniqueName(), type: "url", config })).id
}

export const samples = {
  "search.runIngest": async () => ({}),
  "search.upsertSource": async () => ({ name: uniqueName(), type: "inline" }),
  "search.getSource": async world => ({ id: await newSearchSource(world) }),
  "search.deleteSource": async world => ({ id: await newSearchSource(world) }),
  "search.runSource": async world => ({ id: await newUrlSource(world) }),
  "search.listRuns": async world => ({ id: await newSearchSource(world) }),
  "search.getRun": async world => {
    const { run_id } = await world.key.search.runSource({ id: await newUrlSource(world) })
    return { id: run_id }
  },
  "search.putDocuments": async world => ({
    id: await newSearchSource(world),
    documents: [{ id: "1", title: "Welcome", text: "Getting started" }],
  }),
  "search.deleteDocuments": async world => ({ id: await newSearchSource(world), ids: ["1"] }),
} satisfies Readonly<Record<string, Sample>>
