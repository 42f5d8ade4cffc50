import { areas } from "@svc/contract"
import { createEventStreams } from "../../core/event-streams.ts"
import { implement } from "../../kernel/implement.ts"
import { createNotifier } from "../../kernel/notifier.ts"
import { provide } from "../../kernel/token.ts"
import { inboundMailOf } from "../../ports/mail/inbound.ts"
import { agentChatHandlers, type ChatNeeds, chatHandlers } from "./chat-handlers.ts"
import { createDesk, type Desk } from "./desk.ts"
import type { Needs } from "./needs.ts"
import { createNotices } from "./notices.ts"
import { mailReplies } from "./offers.ts"
import { createOperator, type Operator } from "./people.ts"
import { createMailReplies } from "./replies.ts"
import { createChatStreams, STREAM_BOUNDS } from "./stream.ts"
import { agentTicketHandlers, ticketHandlers } from "./ticket-handlers.ts"

type HandlerNeeds = ChatNeeds & { readonly desk: Desk; readonly operator: Operator }

const handlers = implement(areas.support, (needs: HandlerNeeds) => ({
  ...ticketHandlers(needs.desk),
  ...agentTicketHandlers(needs.desk, needs.operator),
  ...chatHandlers(needs),
  ...agentChatHandlers(needs, needs.operator),
}))

export const start = (services: Needs) => {
  const { database, fanout, clock, log, jobs, platformEvents, baseUrl, mails } = services
  const { settings, installation, keys, stopping } = services
  const inbound = inboundMailOf(settings, installation)
  const { db } = database
  const notices = createNotices({
    ...{
      db,
      jobs,
      mail: mails.provider,
      mailFrom: mails.from,
      baseUrl,
      operatorEmail: settings.supportEmail,
    },
    replyHost: inbound.listenOn && inbound.mailHost,
  })
  const desk = createDesk({ platformEvents, notices })
  const operator = createOperator(settings.supportOrganization)
  const opened = new DisposableStack()
  const notifier = opened.use(createNotifier(fanout, log, "support.chats"))
  const streams = opened.use(createEventStreams({ db, clock, keys, stopping }, STREAM_BOUNDS))
  return {
    provides: [provide(mailReplies, createMailReplies({ database, clock, desk, operator }))],
    operations: handlers({ desk, operator, notifier, streams: createChatStreams({ db, notifier, streams }) }),
    async [Symbol.asyncDispose]() {
      opened[Symbol.dispose]()
    },
  }
}
