import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { inboundMailOf } from "../../ports/mail/inbound.ts"
import { needs } from "./needs.ts"
import { projectMail } from "./offers.ts"
import { settings } from "./settings.ts"

export const email = defineModule({
  name: "email",
  title: "Email",
  contract: [areas.email],
  settings,
  needs,
  migrations: { schema: "email", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: {
    atStart: ({ settings, installation }) =>
      inboundMailOf(settings, installation).listenOn &&
      "other mail servers bring bounces and complaints to a port of its own",
    queues: ["email.deliver", "email.retention", "email.verify", "email.reputation"],
    scheduleTargets: ["email"],
  },
  // The mailbox is no lack on a laptop, and no failure anywhere: it says where mails are.
  state: ({ mails }) => ({
    status: "available",
    capabilities: { mails_go_to: mails.provider.capabilities.by, reports_port: null },
  }),
  provides: [projectMail],
  personalData: () => import("./personal-data.ts"),
  load: () => import("./area.ts"),
})
