/** Addresses that answers by mail go to: they name the ticket and who answers, and nobody can make one up. */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { AuthorRole } from "./rules.ts"
import type { TicketRow } from "./ticket-store.ts"

/** 128 bits, and with them a local part of at most 64 characters (RFC 5321, 4.5.3.1.1). */
const MAC_BYTES = 16
const LETTERS = { customer: "c", agent: "a" } as const satisfies Record<AuthorRole, string>

type Signed = Pick<TicketRow, "number" | "reply_key">

const macOf = ({ number, reply_key }: Signed, side: AuthorRole): Buffer =>
  createHmac("sha256", reply_key).update(`${number}.${side}`).digest().subarray(0, MAC_BYTES)

/** `support+1042.c.<32 hexadecimal digits>@mail.example.com`; servers may change the case of its letters. */
export const replyAddress = (ticket: Signed, side: AuthorRole, host: string): string =>
  `support+${ticket.number}.${LETTERS[side]}.${macOf(ticket, side).toString("hex")}@${host}`

export interface ReplyAddress {
  readonly number: number
  readonly side: AuthorRole
  readonly mac: Buffer
}

const FORM = /^support\+(\d{1,9})\.([ca])\.([0-9a-f]{32})@/

/** Undefined for what is no such address. */
export const parseReplyAddress = (address: string): ReplyAddress | undefined => {
  const [, number, letter, mac] = FORM.exec(address.toLowerCase()) ?? []
  if (number === undefined || mac === undefined) return undefined
  return {
    number: Number(number),
    side: letter === LETTERS.agent ? "agent" : "customer",
    mac: Buffer.from(mac, "hex"),
  }
}

export const isSigned = (ticket: Signed, { side, mac }: ReplyAddress): boolean =>
  timingSafeEqual(macOf(ticket, side), mac)
