/**
 * The SMTP listener: takes reports about our own mails, and what people answer to those that say they may; refuses every
 * other mail. It never sends anything.
 */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from "smtp-server"
import type { Logger } from "../../../kernel/log.ts"
import type { Offer } from "../../../kernel/offer.ts"
import type { MailReplies } from "../../support/offers.ts"
import type { Recipient } from "../delivery.ts"
import { readAnswer, refusalOf } from "./answers.ts"
import type { Intake } from "./intake.ts"
import { readReport } from "./report.ts"

export interface SmtpListener extends AsyncDisposable {
  readonly port: number
}

export interface SmtpListenerNeeds {
  readonly intake: Intake
  /** Who takes answers of people. */
  readonly replies: Offer<MailReplies>
  readonly log: Logger
  /** Its name to other servers; complaints come to `complaints@` it. */
  readonly name: string
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
}

/** A report may quote a whole mail. Only its beginning is read, for what matters comes first. */
const MAIL_BYTES_MAX = 30 * 1024 * 1024
const READ_BYTES_MAX = 512 * 1024
const CONNECTIONS_MAX = 100
const CONNECTIONS_PER_ADDRESS_MAX = 10
/** A report is about one mail, and goes to one address. */
const RECIPIENTS_MAX = 10
/** Wrong addresses of one connection; whoever guesses is shown out. */
const REFUSED_MAX = 10
const IDLE_MS = 60_000
const CLOSE_MS = 2_000

const refusal = (responseCode: number, text: string): Error =>
  Object.assign(new Error(text), { responseCode })

const readBeginning = async (stream: SMTPServerDataStream): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (bytes < READ_BYTES_MAX) chunks.push(chunk.subarray(0, READ_BYTES_MAX - bytes))
    bytes += chunk.length
  }
  return Buffer.concat(chunks)
}

/** An address that answers of people go to. */
interface ReplyTo {
  readonly replyTo: string
}

/** What an address is; `null` is the one for complaints. */
type ResolvedRecipient = Recipient | ReplyTo | null

const isReplyTo = (found: ResolvedRecipient): found is ReplyTo => found !== null && "replyTo" in found
const isOfReports = (found: ResolvedRecipient): found is Recipient | null => !isReplyTo(found)

/** What the recipients of a mail under way were found to be. */
type ResolvedRecipients = Map<string, ResolvedRecipient>

const createAdmission = () => {
  const perAddress = new Map<string, number>()
  const addTo = (address: string, change: 1 | -1) => {
    const count = (perAddress.get(address) ?? 0) + change
    if (count > 0) perAddress.set(address, count)
    else perAddress.delete(address)
  }
  return {
    enter(address: string): boolean {
      if ((perAddress.get(address) ?? 0) >= CONNECTIONS_PER_ADDRESS_MAX) return false
      addTo(address, 1)
      return true
    },
    leave: (address: string) => addTo(address, -1),
  }
}

const createMailTaker = ({
  intake,
  replies,
  name,
}: Pick<SmtpListenerNeeds, "intake" | "replies" | "name">) => {
  const complaints = `complaints@${name}`

  const find = async (address: string): Promise<ResolvedRecipient | undefined> => {
    if (address.toLowerCase() === complaints) return null
    return (await replies.get())?.isForUs(address) ? { replyTo: address } : intake.recipientOf(address)
  }

  const takeAnswer = async (content: Buffer, { replyTo: address }: ReplyTo) => {
    const answer = await readAnswer(content)
    const verdict = answer && (await (await replies.get())?.receive({ address, ...answer }))
    const refused = verdict && refusalOf(verdict)
    if (refused) throw refusal(refused.code, refused.text)
  }

  const takeReport = async (content: Buffer, isFromNobody: boolean, named: readonly (Recipient | null)[]) => {
    const { report, quotedPaths } = await readReport(content, isFromNobody)
    if (!report) return
    for (const recipient of named) {
      if (recipient) await intake.take(recipient, report)
      else if (report.kind === "complaint") {
        for (const path of quotedPaths) {
          const quoted = await intake.recipientOf(path)
          if (quoted) await intake.take(quoted, report)
        }
      }
    }
  }

  const take = async (content: Buffer, isFromNobody: boolean, named: readonly ResolvedRecipient[]) => {
    // Robots write in the name of nobody.
    if (!isFromNobody) for (const found of named.filter(isReplyTo)) await takeAnswer(content, found)
    const others = named.filter(isOfReports)
    if (others.length > 0) await takeReport(content, isFromNobody, others)
  }

  return { find, take }
}

export const openSmtpListener = async ({
  intake,
  replies,
  log,
  name,
  host,
  port,
}: SmtpListenerNeeds): Promise<SmtpListener> => {
  const admission = createAdmission()
  const entered = new WeakSet<SMTPServerSession>()
  const mails = new WeakMap<SMTPServerSession, { named: ResolvedRecipients; refused: number }>()
  const { find, take } = createMailTaker({ intake, replies, name })
  const stateOf = (session: SMTPServerSession) => {
    const known = mails.get(session) ?? { named: new Map(), refused: 0 }
    mails.set(session, known)
    return known
  }

  const admitRecipient = async (address: string, session: SMTPServerSession) => {
    const state = stateOf(session)
    if (state.refused >= REFUSED_MAX) throw refusal(421, "4.7.0 Too many wrong addresses")
    if (state.named.size >= RECIPIENTS_MAX) throw refusal(452, "4.5.3 Too many recipients")
    const found = await find(address)
    if (found === undefined) {
      state.refused += 1
      throw refusal(550, "5.1.1 No such mailbox, and no relaying")
    }
    state.named.set(address, found)
  }

  const takeMail = async (stream: SMTPServerDataStream, session: SMTPServerSession) => {
    const content = await readBeginning(stream)
    if (stream.sizeExceeded) throw refusal(552, "5.3.4 The mail is too large")
    const { mailFrom } = session.envelope
    await take(content, !mailFrom || mailFrom.address === "", [...stateOf(session).named.values()])
  }

  const answer = (work: Promise<void>, done: (error?: Error) => void) => {
    work.then(
      () => done(),
      (error: Error) => {
        if ("responseCode" in error) return done(error)
        log.warn({ err: error }, "receiving a mail over SMTP failed")
        done(refusal(451, "4.3.0 Try again later"))
      },
    )
  }

  const server = new SMTPServer({
    ...{ name, banner: "reports and answers only", size: MAIL_BYTES_MAX, maxClients: CONNECTIONS_MAX },
    ...{ authOptional: true, disabledCommands: ["AUTH", "STARTTLS"], disableReverseLookup: true },
    ...{ socketTimeout: IDLE_MS, closeTimeout: CLOSE_MS },
    onConnect(session, done) {
      if (!admission.enter(session.remoteAddress)) return done(refusal(421, "4.7.0 Too many connections"))
      entered.add(session)
      done()
    },
    onClose(session) {
      if (entered.delete(session)) admission.leave(session.remoteAddress)
    },
    onMailFrom(_address, session, done) {
      stateOf(session).named.clear()
      done()
    },
    onRcptTo: ({ address }, session, done) => answer(admitRecipient(address, session), done),
    onData: (stream, session, done) => answer(takeMail(stream, session), done),
  })
  server.on("error", error => log.debug({ reason: error.message }, "SMTP connection failed"))
  server.listen(port, host)
  await once(server.server, "listening")
  return {
    port: (server.server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise(resolve => server.close(() => resolve())),
  }
}
