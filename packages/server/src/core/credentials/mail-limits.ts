import { fault } from "../../kernel/fault.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Limits of mails that anybody can have sent: they protect mailboxes from floods, and addresses from being locked by one network. */
const limits = [
  { by: "account_and_source", count: 3, spanMs: HOUR_MS },
  { by: "account", count: 10, spanMs: DAY_MS },
  { by: "source", count: 100, spanMs: DAY_MS },
] as const

/** What mails are counted by. */
export interface MailCount {
  readonly account: Buffer
  readonly source: string
  readonly created_at: Date
}

/** The time of the `count`-th newest mail since then; undefined where there are fewer. */
export type TimeOfMail = (
  count: number,
  of: Partial<Pick<MailCount, "account" | "source">>,
  since: Date,
) => Promise<Date | undefined>

/** Throws `auth_rate_limited` when this address or this place has asked too often, whether there is an account or not. */
export const checkMailLimits = async (timeOf: TimeOfMail, { account, source, created_at }: MailCount) => {
  const now = created_at.getTime()
  const counted = { account_and_source: { account, source }, account: { account }, source: { source } }
  for (const { by, count, spanMs } of limits) {
    const oldest = await timeOf(count, counted[by], new Date(now - spanMs))
    if (oldest === undefined) continue
    const seconds = Math.max(1, Math.ceil((oldest.getTime() + spanMs - now) / 1000))
    throw fault("auth_rate_limited", undefined, { headers: { "retry-after": String(seconds) } })
  }
}
