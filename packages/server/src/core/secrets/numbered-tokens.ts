/**
 * Refresh tokens: opaque, and numbered within their family, which is one sign-in. A token's secret is derived from family
 * and number, so nothing of it is stored: the row of the family has the number that is valid, and when it became so.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

/** Tabs of a browser that refresh at once all get the same successor for this long. */
export const REPEAT_WINDOW_MS = 10_000

const FAMILY_BYTES = 16
const NUMBER_BYTES = 4
const BODY_BYTES = FAMILY_BYTES + NUMBER_BYTES
const MAC_BYTES = 32
const NUMBER_MAX = 2 ** 32 - 1

export interface NumberedToken {
  /** Id of the sign-in. */
  readonly family: string
  readonly number: number
}

export interface NumberedTokens {
  write(token: NumberedToken): string
  /** Undefined for whatever `write` did not make. */
  read(text: string): NumberedToken | undefined
}

/** `prefix` must be no other token's; `key` comes from `deriveSecret` with a purpose of its own. */
export const createNumberedTokens = (prefix: string, key: Buffer): NumberedTokens => {
  const macOf = (body: Buffer): Buffer => createHmac("sha256", key).update(prefix).update(body).digest()

  return {
    write({ family, number }) {
      if (number > NUMBER_MAX) throw new RangeError("a family of tokens is used up")
      const body = Buffer.alloc(BODY_BYTES)
      body.write(family.replaceAll("-", ""), "hex")
      body.writeUInt32BE(number, FAMILY_BYTES)
      return prefix + Buffer.concat([body, macOf(body)]).toString("base64url")
    },

    read(text) {
      if (!text.startsWith(prefix)) return undefined
      const encoded = text.slice(prefix.length)
      const bytes = Buffer.from(encoded, "base64url")
      // base64url has several spellings of the same bytes; one of them is the token.
      if (bytes.length !== BODY_BYTES + MAC_BYTES || bytes.toString("base64url") !== encoded) return undefined
      const body = bytes.subarray(0, BODY_BYTES)
      if (!timingSafeEqual(bytes.subarray(BODY_BYTES), macOf(body))) return undefined
      const family = body
        .toString("hex", 0, FAMILY_BYTES)
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
      return { family, number: body.readUInt32BE(FAMILY_BYTES) }
    },
  }
}

/** What a family knows of its tokens. */
export interface FamilyState {
  /** The one that is valid. */
  readonly number: number
  /** When it became valid. */
  readonly numbered_at: Date
}

/**
 * `current`: it is exchanged for the next one. `repeated`: it was exchanged a moment ago, and gets the valid one again.
 * `reused`: somebody else has it too, so the family ends (OAuth 2.1, 4.3.1). Ask with the family's row locked.
 */
export const judgeToken = (
  { number }: NumberedToken,
  family: FamilyState,
  nowMs: number,
): "current" | "repeated" | "reused" => {
  if (number === family.number) return "current"
  const sinceMs = nowMs - family.numbered_at.getTime()
  return number === family.number - 1 && sinceMs <= REPEAT_WINDOW_MS ? "repeated" : "reused"
}
