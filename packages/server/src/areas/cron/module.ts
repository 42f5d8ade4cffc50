import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const cron = defineModule({
  name: "cron",
  title: "Cron",
  contract: [areas.cron],
  needs,
  migrations: { schema: "cron", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: {
    rowsIn: ["cron.schedules"],
    queues: ["cron.execute", "cron.prune"],
    scheduleTargets: ["function"],
  },
  load: () => import("./area.ts"),
})
