import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { bucketTarget } from "../domains/offers.ts"
import { needs } from "./needs.ts"
import { objectReader } from "./offers.ts"
import { createS3Reroute } from "./s3/addressing.ts"
import { renderS3Error } from "./s3/errors.ts"
import { s3DomainOf, settings } from "./settings.ts"
import { stateOf } from "./state.ts"

export const storage = defineModule({
  name: "storage",
  title: "Storage",
  contract: [areas.storage, areas.s3],
  settings,
  needs,
  migrations: { schema: "storage", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  keepsBlobs: [{ table: "storage.blobs", owner: "project_id", address: "address" }],
  wakes: { rowsIn: ["storage.buckets", "storage.blobs"], queues: ["storage.lifecycle"] },
  provides: [objectReader, bucketTarget],
  edge: ({ settings, baseUrl }) => ({
    routesByHost: true,
    reroute: createS3Reroute({ domain: s3DomainOf(settings, baseUrl), baseUrl }),
    renderErrors: { s3: renderS3Error },
  }),
  state: ({ blob }) => stateOf(blob),
  load: () => import("./area.ts"),
})
