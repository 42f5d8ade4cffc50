import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../services.ts"
import { needs } from "./needs.ts"
import { createS3Reroute } from "./s3/addressing.ts"
import { renderS3Error } from "./s3/errors.ts"
import { stateOf } from "./state.ts"

export const storage = defineModule({
  name: "storage",
  title: "Storage",
  contract: [areas.storage, areas.s3],
  needs,
  migrations: { schema: "storage", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["storage.buckets", "storage.blobs"] },
  provides: ["objects"],
  edge: ({ s3Domain: domain, baseUrl }) => ({
    reroute: createS3Reroute({ domain, baseUrl }),
    renderErrors: { s3: renderS3Error },
  }),
  state: ({ blob }) => stateOf(blob),
  load: () => import("./area.ts"),
})
