import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { renderOciError } from "./errors.ts"
import { needs } from "./needs.ts"
import { projectImages } from "./offers.ts"
import { rerouteRegistry } from "./paths.ts"

export const registry = defineModule({
  name: "registry",
  title: "Registry",
  contract: [areas.registry],
  needs,
  migrations: { schema: "registry", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  keepsBlobs: [{ table: "registry.pieces", owner: "store_id", address: "address" }],
  wakes: { rowsIn: ["registry.repositories", "registry.garbage"] },
  provides: [projectImages],
  edge: () => ({ reroute: rerouteRegistry, renderErrors: { oci: renderOciError } }),
  load: () => import("./area.ts"),
})
