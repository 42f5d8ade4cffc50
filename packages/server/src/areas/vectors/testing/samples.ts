/** Valid inputs of the operations of vectors, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import { organizationId, type Sample, type SampleWorld } from "../../../testing/sample-world.ts"

const newCollection = async (world: SampleWorld) => {
  const tenant_id = await organizationId(world)
  const name = uniqueName()
  await world.key.vectors.createCollection({ tenant_id, name, dimension: 2 })
  return { tenant_id, name }
}

/** Vectors to write to a collection of their own. */
const newVectors = async (world: SampleWorld) => {
  const { tenant_id, name: collection } = await newCollection(world)
  return { tenant_id, collection, vectors: [{ id: "a", values: [1, 2], metadata: { color: "red" } }] }
}

export const samples = {
  "vectors.createCollection": async world => ({
    tenant_id: await organizationId(world),
    name: uniqueName(),
    dimension: 2,
  }),
  "vectors.getCollection": newCollection,
  "vectors.deleteCollection": newCollection,
  "vectors.list": newCollection,
  "vectors.upsert": newVectors,
  "vectors.batchUpsert": newVectors,
  "vectors.delete": async world => {
    const { vectors, ...at } = await newVectors(world)
    await world.key.vectors.upsert({ ...at, vectors })
    return { ...at, ids: ["a"] }
  },
} satisfies Readonly<Record<string, Sample>>
