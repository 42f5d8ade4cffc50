import { createEventStreams } from "../../core/event-streams.ts"
import { createNotifier } from "../../kernel/notifier.ts"
import { notificationHandlers } from "./handlers.ts"
import { mailQueue } from "./mailing.ts"
import type { Needs } from "./needs.ts"
import { createNotices } from "./notices.ts"
import { createProviderSettings } from "./providers.ts"
import { pushQueue } from "./pushing.ts"
import { createRecipients } from "./recipients.ts"
import { createSender } from "./sending.ts"
import { createInboxStreams, STREAMS_MAX } from "./stream.ts"
import { upkeepSchedule } from "./upkeep.ts"

export const start = (services: Needs) => {
  const { database, clock, log, fanout, jobs, box, keys, outbound, push } = services
  const { platformEvents, baseUrl, stopping, mails } = services
  const { db } = database
  const mail = mails.provider
  const sendsMail = mail.capabilities.by !== "mailbox"
  const opened = new DisposableStack()
  const notifier = opened.use(createNotifier(fanout, log, "inboxes"))
  const streams = opened.use(createEventStreams({ db, clock, keys, stopping }, { groupMax: STREAMS_MAX }))
  const send = createSender({ jobs, notifier, sendsMail })
  const providers = createProviderSettings({ box, baseUrl })
  jobs.define(pushQueue({ db, clock, box, push, providers }))
  jobs.define(mailQueue({ db, clock, mail, mailFrom: mails.from, baseUrl }))
  jobs.schedule(upkeepSchedule({ db, clock }))
  platformEvents.listen(createNotices(send))
  const { urlProblem } = outbound
  return {
    operations: notificationHandlers({
      ...{ recipients: createRecipients(), send, notifier, box, providers, urlProblem },
      streams: createInboxStreams({ db, notifier, clock, streams }),
    }),
    async [Symbol.asyncDispose]() {
      opened[Symbol.dispose]()
    },
  }
}
