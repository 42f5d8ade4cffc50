import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const compliance = defineModule({
  name: "compliance",
  title: "Compliance",
  contract: [areas.compliance],
  needs,
  migrations: { schema: "compliance", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { queues: ["compliance.fulfil", "compliance.expire"] },
  keepsBlobs: [{ table: "compliance.requests", owner: "organization_id", address: "archive_address" }],
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
