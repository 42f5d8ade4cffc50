import type { Services } from "../../../services.ts"
import type { EmailDelivery } from "../delivery.ts"
import { templateHandlers } from "../templates/handlers.ts"
import { createRenderer } from "../templates/renderer.ts"
import { createAccept } from "./accept.ts"
import { defineDelivery } from "./deliver.ts"
import { sendingHandlers } from "./handlers.ts"
import { inboxHandlers } from "./inbox-handlers.ts"
import { createReading } from "./reading.ts"
import { defineRetention } from "./retention.ts"
import { createEmailTarget } from "./schedule-target.ts"

/** What the sending side asks of the platform. */
export const sendingNeeds = [
  ...(["database", "clock", "jobs", "platformEvents"] as const),
  ...(["mails", "mailFrom", "meters", "scheduleTargets", "atRest"] as const),
] as const

type Needs = Pick<Services, (typeof sendingNeeds)[number]> & { readonly delivery: EmailDelivery }

/** Starts the sending side: templates, mails, their delivery, and the mailbox of those that go nowhere. */
export const openSending = (needs: Needs) => {
  const { delivery, atRest } = needs
  const renderer = createRenderer()
  const accept = createAccept(needs)
  const reading = createReading(renderer)
  defineDelivery(needs)
  defineRetention(needs)
  needs.scheduleTargets.provide("email", createEmailTarget({ ...needs, accept, reading }))
  return {
    handlers: {
      ...sendingHandlers({ accept, reading, atRest }),
      ...templateHandlers({ renderer }),
      ...inboxHandlers({ delivery, atRest }),
    },
    [Symbol.asyncDispose]: () => renderer[Symbol.asyncDispose](),
  }
}
