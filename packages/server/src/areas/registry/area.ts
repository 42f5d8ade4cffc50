import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { blobHandlers } from "./blob-handlers.ts"
import { createCollector } from "./collector.ts"
import { manifestHandlers } from "./manifest-handlers.ts"
import type { Needs } from "./needs.ts"
import { uploadHandlers } from "./upload-handlers.ts"
import { createUploads } from "./uploads.ts"

const handlers = implement(areas.registry, (needs: Needs) => ({
  version: (_input, call) => {
    call.setHeader("docker-distribution-api-version", "registry/2.0")
    return {}
  },
  ...blobHandlers(needs),
  ...uploadHandlers({ database: needs.database, uploads: createUploads(needs) }),
  ...manifestHandlers(needs),
}))

export const start = (needs: Needs) => {
  const collector = createCollector(needs)
  return {
    operations: handlers(needs),
    [Symbol.asyncDispose]: () => collector[Symbol.asyncDispose](),
  }
}
