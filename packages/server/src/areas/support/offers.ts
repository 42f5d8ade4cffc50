/** What other areas may ask of this one: types and tokens alone. */
import { offerToken } from "../../kernel/token.ts"

/** A mail that was sent to an address of ours. Automatic ones (RFC 3834) are refused before. */
export interface MailReply {
  readonly address: string
  /** The address in `From`. */
  readonly from: string
  readonly text: string
  /** Message-ID: the same mail is taken once. */
  readonly mailId: string
}

export type ReplyVerdict =
  | "taken"
  | "duplicate"
  | "unknown_address"
  | "foreign_sender"
  | "empty"
  | "closed"
  | "full"

/** What becomes of mails that answer ours. */
export interface MailReplies {
  /** Whether an address has the form of those given out; `receive` finds whether it is one. */
  isForUs(address: string): boolean
  /** Everything but `taken` and `duplicate` left no trace. */
  receive(reply: MailReply): Promise<ReplyVerdict>
}

/** What becomes of mails that answer ours. */
export const mailReplies = offerToken<MailReplies>("mailReplies")
