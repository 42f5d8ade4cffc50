import type { EmailDelivery } from "../delivery.ts"
import type { Needs } from "../needs.ts"
import { templateHandlers } from "../templates/handlers.ts"
import { createRenderer } from "../templates/renderer.ts"
import { createAccept } from "./accept.ts"
import { defineDelivery } from "./deliver.ts"
import { sendingHandlers } from "./handlers.ts"
import { inboxHandlers } from "./inbox-handlers.ts"
import { createProjectMail } from "./project-mail.ts"
import { createReading } from "./reading.ts"
import { defineRetention } from "./retention.ts"
import { createEmailTarget } from "./schedule-target.ts"

type SendingNeeds = Needs & { readonly delivery: EmailDelivery }

/** Starts the sending side: templates, mails, their delivery, and the mailbox of those that go nowhere. */
export const openSending = (given: SendingNeeds) => {
  const { delivery, atRest, mails } = given
  const needs = { ...given, mailFrom: mails.from }
  const renderer = createRenderer()
  const accept = createAccept(needs)
  const reading = createReading(renderer)
  defineDelivery(needs)
  defineRetention(needs)
  needs.scheduleTargets.provide("email", createEmailTarget({ ...needs, accept, reading }))
  return {
    projectMail: createProjectMail({ ...needs, accept, reading }),
    handlers: {
      ...sendingHandlers({ accept, reading, atRest }),
      ...templateHandlers({ renderer }),
      ...inboxHandlers({ delivery, atRest }),
    },
    [Symbol.asyncDispose]: () => renderer[Symbol.asyncDispose](),
  }
}
