import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { branchInsight, branchServers, databaseAccess, tableReader } from "./offers.ts"
import { settings } from "./settings.ts"
import { databasesState } from "./state.ts"

export const databases = defineModule({
  name: "databases",
  title: "Databases",
  contract: [areas.databases],
  settings,
  needs,
  migrations: { schema: "databases", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  // What is deleted, expires or grows too large must be found by time.
  wakes: { rowsIn: ["databases.databases", "databases.volumes"] },
  provides: [branchInsight, branchServers, databaseAccess, tableReader],
  listeners: {
    postgres: {
      speaks: "PostgreSQL's protocol",
      setting: "SVC_POSTGRES_PORT",
      pausesSockets: true,
      address: ({ settings: { postgresPort }, installation: { host, portAfter } }) => ({
        host,
        port: postgresPort ?? portAfter(1),
      }),
    },
  },
  state: ({ engine }) => databasesState(engine),
  load: () => import("./area.ts"),
})
