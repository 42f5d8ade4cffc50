import { vectorConformance } from "./conformance.ts"
import { openQdrantIndex } from "./drivers/qdrant/driver.ts"
import { startFakeQdrant } from "./drivers/qdrant/testing/fake-qdrant.ts"

const KEY = "qdrant-key"

vectorConformance("Qdrant", async t => {
  const server = await startFakeQdrant(KEY)
  const index = openQdrantIndex({ url: server.url, key: KEY })
  t.after(async () => {
    await index[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })
  return index
})
