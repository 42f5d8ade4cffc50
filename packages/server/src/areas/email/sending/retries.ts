/** When a mail that a server did not take is tried again, and what a refusal means. */
import type { MailReply } from "../../../ports/mail/port.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const FIRST_DELAYS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 4 * HOUR_MS]
const LATER_DELAY_MS = 8 * HOUR_MS
/** RFC 5321, 4.5.4.1, asks for four to five days at most; three tell the sender sooner. */
const GIVE_UP_MS = 72 * HOUR_MS
const DELAYED_AFTER_MS = 4 * HOUR_MS

/** Milliseconds until the attempt after that one (counted from 1); undefined when it was the last. */
export const delayAfter = (attempt: number): number | undefined => {
  const first = FIRST_DELAYS_MS[attempt - 1]
  if (first !== undefined) return first
  const passedMs =
    FIRST_DELAYS_MS.reduce((sum, delay) => sum + delay) +
    (attempt - 1 - FIRST_DELAYS_MS.length) * LATER_DELAY_MS
  return passedMs + LATER_DELAY_MS <= GIVE_UP_MS ? LATER_DELAY_MS : undefined
}

/** Whether somebody should hear that a mail is still on its way. */
export const isLongDelayed = (sinceDueMs: number): boolean => sinceDueMs >= DELAYED_AFTER_MS

/** Codes that servers answer for mailboxes that are not there, where they give no enhanced one (RFC 5321, 4.2.3). */
const MAILBOX_CODES: ReadonlySet<number | null> = new Set([550, 551, 553])

/** Permanent: the address is not there, or takes no mail at all (RFC 3463, 5.1.x and 5.2.1). */
export const bounceOf = ({ code, enhancedCode }: MailReply) => {
  const isPermanent =
    enhancedCode === null ? MAILBOX_CODES.has(code) : /^5\.(1\.\d+|2\.1)$/.test(enhancedCode)
  return { type: isPermanent ? "permanent" : "undetermined", sub_type: enhancedCode } as const
}
