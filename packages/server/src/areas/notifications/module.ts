import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const notifications = defineModule({
  name: "notifications",
  title: "Notifications",
  contract: [areas.notifications],
  needs,
  migrations: { schema: "notifications", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: {
    platformEvents: true,
    queues: ["notifications.push", "notifications.mail", "notifications.upkeep"],
  },
  state: ({ mails }) => ({
    status: "available",
    capabilities: {
      channels: ["in_app", "push", ...(mails.provider.capabilities.by === "mailbox" ? [] : ["email"])],
      push: ["webpush", "unifiedpush", "fcm", "apns"],
    },
  }),
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
