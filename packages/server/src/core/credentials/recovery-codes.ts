import { createHmac, randomInt } from "node:crypto"

export const RECOVERY_CODES = 10
const LENGTH = 10
/** Crockford's base 32: no letter that reads like a digit. Ten of them are 50 bits. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const newCode = (): string => {
  let code = ""
  for (let at = 0; at < LENGTH; at++) code += LETTERS[randomInt(LETTERS.length)]
  return code
}

const shown = (code: string): string => `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`

/** As a person types it: small letters, spaces, and O for zero. */
const normalized = (typed: string): string =>
  typed.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1")

/**
 * Ten codes for who lost their authenticator. A code is used by deleting its row by owner and hash, so it works once.
 * 50 bits could be guessed from a plain hash, so the hash has a key, `deriveSecret("svc:recovery-codes", …)`, that is not in
 * the database; `owner` keeps the codes of one person from working for another.
 */
export const createRecoveryCodes = (key: Buffer) => {
  const hash = (owner: string, typed: string): Buffer =>
    createHmac("sha256", key)
      .update(JSON.stringify([owner, normalized(typed)]))
      .digest()

  return {
    hash,
    /** The codes, to be shown once, and what is stored of them. */
    make(owner: string): { readonly codes: string[]; readonly hashes: Buffer[] } {
      const made = new Set<string>()
      while (made.size < RECOVERY_CODES) made.add(newCode())
      const codes = [...made]
      return { codes: codes.map(shown), hashes: codes.map(code => hash(owner, code)) }
    },
  }
}

export type RecoveryCodes = ReturnType<typeof createRecoveryCodes>
