/** `svc mail inbox`: the mails that stayed in this installation, for people to read. */
import type { OwnFlags } from "../arguments.ts"
import { connectWithKey } from "../connect.ts"
import { printable, printFields, printJson, printTable } from "../output.ts"
import { type Terminal, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"

export const mailFlags: OwnFlags = {
  to: { type: "string", about: "Only mails to this address" },
  limit: { type: "string", about: "Number of mails to list; 50 by default, at most 200" },
  html: { type: "boolean", about: "The HTML of a mail instead of its text" },
  raw: { type: "boolean", about: "The raw mail" },
}

export const mailUsage = `svc mail inbox [--to <address>] [--limit <number>]
svc mail inbox <id> [--html | --raw]`

interface Mail {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly captured_at: string
  readonly text: string | null
  readonly html: string | null
  readonly attachments: readonly { readonly filename: string; readonly size_bytes: number }[]
}

/** Line by line: a mail must not steer the terminal of who reads it. */
const printText = (text: string, { out }: Terminal) => {
  for (const line of text.split(/\r?\n/)) out.line(printable(line))
}

const printMail = (mail: Mail, html: boolean, terminal: Terminal) => {
  const { from, to, subject, captured_at, attachments } = mail
  const files = attachments.map(({ filename, size_bytes }) => `${filename} (${size_bytes} bytes)`)
  printFields(
    { from, to, subject, captured_at, ...(files.length > 0 && { attachments: files }) },
    terminal.out,
  )
  terminal.out.line("")
  printText((html ? mail.html : (mail.text ?? mail.html)) ?? "", terminal)
}

const limitOf = (text: string | true | undefined): number | undefined => {
  if (typeof text !== "string") return undefined
  if (!/^\d{1,4}$/.test(text)) throw new UsageError(`not a number: ${text}`, "mail inbox")
  return Number(text)
}

export const mail: Extra = async (globals, [id, surplus], terminal, flags) => {
  if (surplus !== undefined) throw new UsageError(`unexpected word: ${surplus}`, "mail inbox")
  const limit = limitOf(flags.limit)
  const svc = await connectWithKey(globals, terminal)
  if (id !== undefined) {
    const found = await svc.email.getInbox({ id })
    if (globals.json) printJson(found, terminal.out)
    else if (flags.raw) await terminal.out.bytes(Buffer.from(found.raw, "latin1"))
    else printMail(found, flags.html === true, terminal)
    return undefined
  }
  const page = await svc.email.listInbox({
    ...(limit !== undefined && { limit }),
    ...(typeof flags.to === "string" && { to: flags.to }),
  })
  if (globals.json) printJson(page.data, terminal.out)
  else if (page.data.length === 0) terminal.err.line("none")
  else {
    const rows = page.data.map(({ id, captured_at, to, subject, from }) => ({
      ...{ id, captured_at, to, subject, from },
    }))
    printTable(rows, terminal.out, terminal.err)
    if (page.total > rows.length) terminal.err.line(`${rows.length} of ${page.total}`)
  }
  return undefined
}
