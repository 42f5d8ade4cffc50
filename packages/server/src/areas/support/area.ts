import { areas } from "@svc/contract"
import { createEventStreams } from "../../core/event-streams.ts"
import { createBell } from "../../kernel/bell.ts"
import { implement } from "../../kernel/implement.ts"
import { agentChatHandlers, type ChatNeeds, chatHandlers } from "./chat-handlers.ts"
import { createDesk, type Desk } from "./desk.ts"
import type { Needs } from "./needs.ts"
import { createNotices } from "./notices.ts"
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
  const { database, fanout, clock, log, jobs, platformEvents, baseUrl, mails, mailFrom } = services
  const { mail, mailReplies, support, keys, stopping } = services
  const { db } = database
  const notices = createNotices({
    ...{ db, jobs, mail: mails.provider, mailFrom, baseUrl, operatorEmail: support.email },
    replyHost: mail.listenOn && mail.mailHost,
  })
  const desk = createDesk({ platformEvents, notices })
  const operator = createOperator(support.organizationId)
  const opened = new DisposableStack()
  const bell = opened.use(createBell(fanout, log, "support.chats"))
  const streams = opened.use(createEventStreams({ db, clock, keys, stopping }, STREAM_BOUNDS))
  mailReplies.provide(createMailReplies({ database, clock, desk, operator }))
  return {
    operations: handlers({ desk, operator, bell, streams: createChatStreams({ db, bell, streams }) }),
    async [Symbol.asyncDispose]() {
      opened[Symbol.dispose]()
    },
  }
}
