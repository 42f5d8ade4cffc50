/** A platform that sends through a relay of this machine, and takes reports about what it sent. */
import { connect } from "node:net"
import type { TestContext } from "node:test"
import { startSmtp } from "../../../testing/smtp.ts"
import { type DeliveryWorld, deliveryWorld } from "./delivery-world.ts"

export interface SentMail {
  readonly id: string
  /** The sender of the envelope that the relay was given. */
  readonly returnPath: string
}

export interface ReportsWorld extends DeliveryWorld {
  readonly port: number
  /** Sends a mail from the verified domain `mail.example.com`. */
  send(to: string): Promise<SentMail>
  /** Sends the listener a mail; gives its last answer. */
  report(recipient: string, content: string, sender?: string): Promise<string>
}

/** Speaks SMTP (RFC 5321) line by line; gives the answers, the first of which is the greeting. */
export const converse = async (port: number, ...lines: string[]): Promise<string[]> => {
  const socket = connect(port, "127.0.0.1")
  const answers: string[] = []
  let text = ""
  const answer = async (): Promise<boolean> => {
    for (let part = await parts.next(); !part.done; part = await parts.next()) {
      text += String(part.value)
      if (!/^(?:\d{3}-[^\n]*\n)*\d{3}[^\n-]*.*\n$/.test(text)) continue
      answers.push(text.trimEnd())
      text = ""
      return true
    }
    return false
  }
  const parts = socket[Symbol.asyncIterator]()
  try {
    let isOpen = await answer()
    for (const line of lines) {
      if (!isOpen) break
      socket.write(`${line}\r\n`)
      isOpen = await answer()
    }
  } finally {
    socket.destroy()
  }
  return answers
}

const stuffed = (content: string): string => content.replaceAll(/\r?\n/g, "\r\n").replaceAll(/^\./gm, "..")

export const reportsWorld = async (t: TestContext): Promise<ReportsWorld> => {
  const sink = await startSmtp(t)
  const world = await deliveryWorld(t, { env: { SVC_SMTP_PORT: "0", SVC_SMTP_URL: sink.url } })
  const { p, svc } = world
  const { services } = await svc.identity.services()
  const port = Number(services.find(({ name }) => name === "email")?.capabilities?.reports_port)

  return {
    ...world,
    port,
    async send(to) {
      const before = sink.mails.length
      const { id } = await svc.email.sendRaw({
        ...{ from: "hi@mail.example.com", to: [to], subject: "Hello", html: "<p>Hello</p>" },
      })
      await p.clock.advance(1_000)
      const mails = await sink.received(before + 1)
      return { id, returnPath: mails.at(-1)?.sender ?? "" }
    },
    async report(recipient, content, sender = "") {
      const answers = await converse(
        port,
        ...["EHLO mx.example.org", `MAIL FROM:<${sender}>`, `RCPT TO:<${recipient}>`, "DATA"],
        `${stuffed(content)}\r\n.`,
      )
      return answers.at(-1) ?? ""
    },
  }
}
