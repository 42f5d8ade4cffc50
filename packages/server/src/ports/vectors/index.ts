/** Provider name → driver. A driver's library is loaded only when it is the one chosen. */
import type { QdrantOptions } from "./drivers/qdrant/driver.ts"
import type { UsearchOptions } from "./drivers/usearch/driver.ts"
import type { VectorIndexPort } from "./port.ts"

export type VectorProvider =
  | ({ readonly driver: "usearch" } & UsearchOptions)
  | ({ readonly driver: "qdrant" } & QdrantOptions)

export const openVectorIndex = async (provider: VectorProvider): Promise<VectorIndexPort> => {
  switch (provider.driver) {
    case "usearch":
      return (await import("./drivers/usearch/driver.ts")).openUsearchIndex(provider)
    case "qdrant":
      return (await import("./drivers/qdrant/driver.ts")).openQdrantIndex(provider)
  }
}
