import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { commonPasswords } from "./common-passwords.ts"

/** Refuses a new password that is too short, too long, or among the first that anybody would try. */
export const checkPassword = (password: string, email: string, lengthMin: number = PASSWORD_LENGTH_MIN) => {
  const folded = password.toLowerCase()
  const address = email.toLowerCase()
  if ([...password].length < lengthMin) {
    throw fault("weak_password", { reason: `it needs ${lengthMin} characters or more` })
  }
  if (Buffer.byteLength(password) > PASSWORD_LENGTH_MAX) {
    throw fault("weak_password", { reason: `it may have at most ${PASSWORD_LENGTH_MAX} bytes` })
  }
  if (commonPasswords.has(folded)) throw fault("weak_password", { reason: "it is one of the commonest" })
  if (folded === address || folded === address.split("@", 1)[0]) {
    throw fault("weak_password", { reason: "it is the e-mail address" })
  }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How long a mailed token confirms an address. Limits look back no longer than this, because their rows go then. */
export const SIGNUP_LIFETIME_MS = DAY_MS
/** How long a mailed token sets a new password: long enough for slow mail, and no longer (ASVS 5, 6.4.3). */
export const RESET_LIFETIME_MS = HOUR_MS
/** Limits look back this long, so rows of resets are kept for it. */
export const RESETS_KEPT_MS = DAY_MS
/** Passwords that may be tried with one token. */
export const SIGNUP_ATTEMPTS_MAX = 10
export const SESSION_IDLE_MS = 12 * HOUR_MS
export const SESSION_LIFETIME_MS = 30 * DAY_MS

interface SessionTimes {
  readonly last_used_at: Date
  readonly expires_at: Date
}

/** A session lasts 30 days, or until it was left alone for 12 hours. */
export const isLive = ({ last_used_at, expires_at }: SessionTimes, nowMs: number): boolean =>
  nowMs < expires_at.getTime() && nowMs < last_used_at.getTime() + SESSION_IDLE_MS
