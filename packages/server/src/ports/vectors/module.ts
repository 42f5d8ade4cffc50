import { defineService } from "../../kernel/service.ts"
import { clock } from "../../kernel/tokens.ts"
import { vectors } from "./port.ts"
import { settings } from "./settings.ts"

export const vectorsService = defineService({
  provides: vectors,
  settings,
  needs: { clock },
  atStart: given => given.settings.qdrantUrl !== undefined,
  async open({ settings: { qdrantUrl, qdrantKey, vectorsMemoryMb }, clock }, { opened }) {
    const { openVectorIndex } = await import("./index.ts")
    const index =
      qdrantUrl === undefined
        ? openVectorIndex({ driver: "usearch", memoryBytes: vectorsMemoryMb * 2 ** 20, clock })
        : openVectorIndex({ driver: "qdrant", url: qdrantUrl, key: qdrantKey })
    return opened.use(await index)
  },
})
