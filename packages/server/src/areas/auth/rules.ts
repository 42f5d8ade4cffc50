import { USER_METADATA_BYTES_MAX } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** How long mails of a kind work. Limits look back a day, and rows stay as long as their mail works at least. */
export const MAIL_LIFETIME_MS = {
  signup: DAY_MS,
  recovery: 60 * MINUTE_MS,
  magiclink: 60 * MINUTE_MS,
  otp: 10 * MINUTE_MS,
  invite: 7 * DAY_MS,
  email_change: DAY_MS,
} as const
export type MailKind = keyof typeof MAIL_LIFETIME_MS

/** Rows of mails are what limits count. */
export const MAILS_KEPT_MS = DAY_MS
export const UNVERIFIED_FACTORS_KEPT_MS = DAY_MS
export const ANONYMOUS_KEPT_MS = 30 * DAY_MS
export const SOURCES_KEPT_MS = 180 * DAY_MS

/** Verifiers keep the public keys for as long as `Cache-Control` says, and a little longer. */
export const JWKS_SECONDS = 600
export const NEXT_KEY_PUBLISHED_MS = 15 * MINUTE_MS
/** Longer than any access token is valid. */
export const OLD_KEY_PUBLISHED_MS = DAY_MS + 60 * MINUTE_MS
export const KEY_LIFETIME_MS = 90 * DAY_MS

const urlOf = (text: string): URL | undefined => {
  // A browser reads a backslash as a slash, and drops line ends: what was compared must be what is opened.
  if (/[\\\s\p{Cc}]/u.test(text)) return undefined
  return URL.parse(text) ?? undefined
}

/** What an entry of `redirect_urls` may not be; undefined for a valid one. */
export const redirectProblem = (entry: string): string | undefined => {
  const url = urlOf(entry)
  if (!url) return `${entry} is not an address`
  if (url.username || url.password || url.hash) return `${entry} has a user, a password or a fragment`
  // Schemes of apps have no host that could be another's; of those that browsers know, pages alone are allowed.
  if (["javascript:", "data:", "file:", "blob:", "about:", "vbscript:"].includes(url.protocol))
    return `${entry} is not the address of a page`
  return undefined
}

/** Whether mails may lead there: exactly an entry, or one that ends in a slash and a star with the same beginning. */
export const isRedirectAllowed = (target: string, allowed: readonly string[]): boolean => {
  const url = urlOf(target)
  if (!url || url.username || url.password || redirectProblem(target) !== undefined) return false
  return allowed.some(entry => {
    if (!entry.endsWith("/*")) return entry === target
    const beginning = URL.parse(entry.slice(0, -1))
    return (
      beginning !== null &&
      beginning.protocol === url.protocol &&
      beginning.host === url.host &&
      // The parsed path has no `..` left.
      url.pathname.startsWith(beginning.pathname) &&
      !/%2e|%2f|%5c/i.test(url.pathname)
    )
  })
}

export type Metadata = Readonly<Record<string, unknown>>

/** The fields of `change` over those that are there; null removes one. */
export const mergeMetadata = (field: string, before: unknown, change: Metadata | undefined): Metadata => {
  const merged = { ...(before as Metadata), ...change }
  const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null))
  if (Buffer.byteLength(JSON.stringify(kept)) > USER_METADATA_BYTES_MAX)
    throw fault("validation_failed", undefined, {
      errors: [
        { location: `body.${field}`, message: `must be at most ${USER_METADATA_BYTES_MAX} bytes of JSON` },
      ],
    })
  return kept
}
