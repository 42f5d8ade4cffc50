import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { defineArea } from "../../services.ts"
import { createBell } from "./bell.ts"
import { agentChatHandlers, type ChatNeeds, chatHandlers } from "./chat-handlers.ts"
import { createDesk, type Desk } from "./desk.ts"
import { createNotices } from "./notices.ts"
import { createOperator, type Operator } from "./people.ts"
import { createMailReplies } from "./replies.ts"
import { createStreams } from "./stream.ts"
import { agentTicketHandlers, ticketHandlers } from "./ticket-handlers.ts"

type Needs = ChatNeeds & { readonly desk: Desk; readonly operator: Operator }

const handlers = implement(areas.support, (needs: Needs) => ({
  ...ticketHandlers(needs.desk),
  ...agentTicketHandlers(needs.desk, needs.operator),
  ...chatHandlers(needs),
  ...agentChatHandlers(needs, needs.operator),
}))

export const supportArea = defineArea({
  name: "support",
  title: "Support",
  needs: [
    ...(["database", "changes", "clock", "log", "jobs", "platformEvents", "baseUrl", "stopping"] as const),
    ...(["mails", "mailFrom", "mail", "mailReplies", "support"] as const),
  ],
  migrations: { schema: "support", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start(services) {
    const { database, changes, clock, log, jobs, platformEvents, baseUrl, mails, mailFrom } = services
    const { mail, mailReplies, support, stopping } = services
    const { db } = database
    const notices = createNotices({
      ...{ db, jobs, mail: mails.provider, mailFrom, baseUrl, operatorEmail: support.email },
      replyHost: mail.door && mail.mailHost,
    })
    const desk = createDesk({ platformEvents, notices })
    const operator = createOperator(support.organizationId)
    const bell = createBell({ database, changes, log })
    const streams = createStreams({ db, bell, clock, stopping })
    mailReplies.provide(createMailReplies({ database, clock, desk, operator }))
    return {
      operations: handlers({ desk, operator, bell, streams }),
      state: () => ({ status: "available" as const }),
      [Symbol.asyncDispose]: () => bell[Symbol.asyncDispose](),
    }
  },
})
