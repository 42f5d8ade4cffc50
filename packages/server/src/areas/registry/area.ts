import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import { blobHandlers } from "./blob-handlers.ts"
import { createCollector } from "./collector.ts"
import { manifestHandlers } from "./manifest-handlers.ts"
import type { Needs } from "./needs.ts"
import { projectImages } from "./offers.ts"
import { createProjectImages } from "./project-images.ts"
import { uploadHandlers } from "./upload-handlers.ts"
import { createUploads, type Uploads } from "./uploads.ts"

const handlers = implement(areas.registry, (needs: Needs & { readonly uploads: Uploads }) => ({
  version: (_input, call) => {
    call.setHeader("docker-distribution-api-version", "registry/2.0")
    return {}
  },
  ...blobHandlers(needs),
  ...uploadHandlers({ database: needs.database, uploads: needs.uploads }),
  ...manifestHandlers(needs),
}))

export const start = (needs: Needs) => {
  const collector = createCollector(needs)
  const uploads = createUploads(needs)
  return {
    provides: [provide(projectImages, createProjectImages({ ...needs, uploads }))],
    operations: handlers({ ...needs, uploads }),
    [Symbol.asyncDispose]: () => collector[Symbol.asyncDispose](),
  }
}
