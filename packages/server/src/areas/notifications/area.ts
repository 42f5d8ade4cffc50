import { fileURLToPath } from "node:url"
import { defineArea } from "../../services.ts"
import { notificationHandlers } from "./handlers.ts"
import { createLive } from "./live.ts"
import { createNotices } from "./notices.ts"
import { createProviderSettings } from "./providers.ts"
import { pushQueue } from "./pushing.ts"
import { createRecipients } from "./recipients.ts"
import { createSender } from "./sending.ts"
import { createStreams } from "./stream.ts"
import { upkeepSchedule } from "./upkeep.ts"

export const notificationsArea = defineArea({
  name: "notifications",
  title: "Notifications",
  needs: [
    ...(["database", "clock", "log", "changes", "jobs", "box", "keys"] as const),
    ...(["outbound", "push", "platformEvents", "baseUrl", "stopping"] as const),
  ],
  migrations: { schema: "notifications", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start({ database, clock, log, changes, jobs, box, keys, outbound, push, platformEvents, baseUrl, stopping }) {
    const { db } = database
    const opened = new DisposableStack()
    const live = opened.use(createLive({ db, changes, log }))
    const streams = opened.use(createStreams({ db, live, clock, keys, stopping }))
    const send = createSender({ jobs, live })
    const providers = createProviderSettings({ box, baseUrl })
    jobs.define(pushQueue({ db, clock, box, push, providers }))
    jobs.schedule(upkeepSchedule({ db, clock }))
    platformEvents.listen(createNotices(send))
    const { urlProblem } = outbound
    return {
      operations: notificationHandlers({
        ...{ recipients: createRecipients(), send, live, streams, box, providers, urlProblem },
      }),
      state: () => ({
        status: "available" as const,
        capabilities: { channels: ["in_app", "push"], push: ["webpush", "unifiedpush", "fcm", "apns"] },
      }),
      async [Symbol.asyncDispose]() {
        opened[Symbol.dispose]()
      },
    }
  },
})
