import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const events = defineModule({
  name: "events",
  title: "Events",
  contract: [areas.events],
  needs,
  migrations: { schema: "events", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: {
    rowsIn: ["events.subscriptions"],
    queues: ["events.forget", "events.dedupes", "events.expire"],
    scheduleTargets: ["topic"],
  },
  state: ({ functions }) => ({
    status: "available",
    capabilities: { webhook_subscriptions: true, function_subscriptions: functions.isProvided() },
  }),
  load: () => import("./area.ts"),
})
