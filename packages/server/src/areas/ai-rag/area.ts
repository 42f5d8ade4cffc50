import { provide } from "../../kernel/token.ts"
import { createEmbedder } from "./embedder.ts"
import { ragHandlers } from "./handlers.ts"
import { createIngest } from "./ingest.ts"
import type { Needs } from "./needs.ts"
import { passageFinder } from "./offers.ts"
import { createPassageFinder } from "./passages-offer.ts"
import { createQuery } from "./query.ts"
import { createUpload } from "./upload.ts"

export const start = ({ database, clock, jobs, blob, models }: Needs) => {
  const embedder = createEmbedder(models)
  const ingest = createIngest({ database, jobs, clock, blob, embedder })
  const upload = createUpload({ database, blob, ingest })
  return {
    operations: ragHandlers({ blob, embedder, upload, query: createQuery({ embedder }) }),
    provides: [provide(passageFinder, createPassageFinder(database.db, embedder))],
  }
}
