/** Provider name → driver. A driver's library is loaded only when it is the one chosen. */
import type { Clock } from "../../kernel/clock.ts"
import type { VectorIndexPort } from "./port.ts"

export type VectorProvider =
  | { readonly driver: "usearch"; readonly memoryBytes: number; readonly clock: Clock }
  | { readonly driver: "qdrant"; readonly url: string; readonly key: string | undefined }

export const openVectorIndex = async (provider: VectorProvider): Promise<VectorIndexPort> => {
  switch (provider.driver) {
    case "usearch":
      return (await import("./drivers/usearch/driver.ts")).openUsearchIndex(provider)
    case "qdrant":
      return (await import("./drivers/qdrant/driver.ts")).openQdrantIndex(provider)
  }
}
