/** A real SMTP server on this machine that keeps what it is sent and answers as a test says. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"
import type { Ends } from "./ends.ts"

export interface ReceivedMail {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly content: Buffer
  readonly user: string | undefined
}

/** What becomes of one recipient or one mail: taken, or refused with this code and text. */
export type SmtpAnswer = { readonly code: number; readonly text: string } | "take"

export interface SmtpSink {
  readonly port: number
  /** For `SVC_SMTP_URL`. */
  readonly url: string
  readonly mails: readonly ReceivedMail[]
  /** How many connections were made. */
  readonly connections: number
  /** Answers to RCPT of an address; those not named here are taken. */
  refuse(address: string, answer: SmtpAnswer): void
  /** Answers to the next mails' content, in order; then all are taken. */
  script(...answers: readonly (SmtpAnswer | "drop" | "hang")[]): void
  /** Resolves once that many mails have come, those of before included. */
  received(count: number): Promise<readonly ReceivedMail[]>
}

const WAIT_MS_MAX = 60_000

const refusal = ({ code, text }: { code: number; text: string }): Error =>
  Object.assign(new Error(text), { responseCode: code })

export const startSmtp = async (
  t: Ends,
  options: SMTPServerOptions & { readonly at?: number; readonly password?: string } = {},
): Promise<SmtpSink> => {
  const { at = 0, password, ...others } = options
  const mails: ReceivedMail[] = []
  const refusals = new Map<string, SmtpAnswer>()
  const watchers = new Set<() => void>()
  let script: (SmtpAnswer | "drop" | "hang")[] = []
  let connections = 0

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: password === undefined ? ["AUTH", "STARTTLS"] : ["STARTTLS"],
    allowInsecureAuth: true,
    closeTimeout: 100,
    onConnect(_session, done) {
      connections++
      done()
    },
    onAuth({ username, password: given }, _session, done) {
      if (given === password) done(null, { user: username ?? "" })
      else done(refusal({ code: 535, text: "5.7.8 Wrong user or password" }))
    },
    onRcptTo({ address }, _session, done) {
      const answer = refusals.get(address)
      done(answer === undefined || answer === "take" ? undefined : refusal(answer))
    },
    async onData(stream, session, done) {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk)
      const answer = script.shift() ?? "take"
      if (answer === "hang") return
      if (answer === "drop") return server.connections.forEach(connection => void connection.close())
      if (answer !== "take") return done(refusal(answer))
      const { mailFrom, rcptTo } = session.envelope
      mails.push({
        sender: mailFrom ? mailFrom.address : "",
        recipients: rcptTo.map(({ address }) => address),
        content: Buffer.concat(chunks),
        user: session.user === undefined ? undefined : String(session.user),
      })
      done()
      for (const watcher of watchers) watcher()
    },
    ...others,
  })
  server.on("error", () => undefined)
  server.listen(at, "127.0.0.1")
  await once(server.server, "listening")
  t.after(() => new Promise<void>(resolve => server.close(() => resolve())))
  const { port } = server.server.address() as AddressInfo

  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    mails,
    get connections() {
      return connections
    },
    refuse: (address, answer) => void refusals.set(address, answer),
    script: (...answers) => {
      script = [...answers]
    },
    received: count =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(reject, WAIT_MS_MAX, new Error(`${mails.length} of ${count} mails came`))
        const watcher = () => {
          if (mails.length < count) return
          clearTimeout(timer)
          watchers.delete(watcher)
          resolve(mails)
        }
        watchers.add(watcher)
        watcher()
      }),
  }
}
