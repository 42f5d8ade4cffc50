import { createHmac, randomInt, timingSafeEqual } from "node:crypto"
import { newToken, tokenHash } from "../accounts/token.ts"

const CODE_DIGITS = 6
/** Wrong codes that one mail allows. The chance of guessing one is then 5 in a million for each mail. */
export const MAILED_CODE_TRIES_MAX = 5

export interface MailedSecrets {
  /** For the link of the mail. */
  readonly token: string
  /** To be typed where the link cannot be opened. */
  readonly code: string
  readonly tokenHash: Buffer
  readonly codeHash: Buffer
}

/**
 * What a mail proves an address by: a random token and a short code. The area stores the hashes with an expiry and the
 * number of tries, and ends the row with its first use. A code's hash has a key that is not in the database,
 * `deriveSecret("svc:mailed-codes", …)`: a million codes are tried in a moment.
 */
export const createMailedTokens = (prefix: string, key: Buffer) => {
  /** `id` is that of the row: one code of two mails has two hashes. */
  const codeHash = (id: string, code: string): Buffer =>
    createHmac("sha256", key)
      .update(JSON.stringify([id, code.trim()]))
      .digest()

  return {
    make(id: string): MailedSecrets {
      const token = newToken(prefix)
      const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, "0")
      return { token, code, tokenHash: tokenHash(token), codeHash: codeHash(id, code) }
    },
    tokenHash,
    isCode: (row: { readonly id: string; readonly code_hash: Buffer }, code: string): boolean =>
      timingSafeEqual(row.code_hash, codeHash(row.id, code)),
  }
}

export type MailedTokens = ReturnType<typeof createMailedTokens>
