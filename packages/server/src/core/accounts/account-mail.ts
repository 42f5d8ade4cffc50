import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Outcome } from "../../kernel/jobs/jobs.ts"
import { composeMime } from "../../kernel/mime.ts"
import type { MailPort } from "../../ports/mail/port.ts"

export interface AccountMailNeeds {
  readonly db: Db
  readonly clock: Clock
  readonly mail: MailPort
  readonly mailFrom: string
  readonly baseUrl: string
}

export interface AccountMail {
  readonly subject: string
  readonly text: string
}

/** Sends a mail of the installation to a person, as the outcome of a job: an address that refuses is not tried again. */
export const sendAccountMail = async (
  { clock, mail, mailFrom }: AccountMailNeeds,
  recipient: string,
  message: AccountMail,
): Promise<Outcome> => {
  const content = await composeMime({
    from: mailFrom,
    to: recipient,
    ...message,
    // RFC 3834: suppresses automatic replies.
    headers: { "Auto-Submitted": "auto-generated" },
    date: new Date(clock.now()),
  })
  const outcome = await mail.send({ sender: mailFrom, recipient, content })
  if (outcome.kind === "accepted") return { kind: "done" }
  if (outcome.kind === "rejected") return { kind: "dead", reason: outcome.reply.response }
  throw new Error(outcome.reply.response)
}
