import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { databaseAccess, tableReader } from "./offers.ts"
import { settings } from "./settings.ts"

export const databases = defineModule({
  name: "databases",
  title: "Databases",
  contract: [areas.databases, areas.sql, areas.advice],
  settings,
  needs,
  migrations: { schema: "databases", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: {
    atStart: () => "clients of the wire protocol come to a port of its own",
    scheduleTargets: ["sql"],
  },
  provides: [databaseAccess, tableReader],
  load: () => import("./area.ts"),
})
