import { hash, randomInt } from "node:crypto"
import { crc32 } from "node:zlib"
import type { KeyType } from "@svc/contract"

/** Prefixes of specification 2.2. */
export const prefixes = {
  secret: "svc_sk_",
  service_account: "svc_sa_",
  full_access: "svc_at_",
  personal: "svc_pat_",
  publishable: "svc_pk_",
  oauth: "svc_oat_",
} as const satisfies Record<KeyType, string>

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
const VISIBLE_LENGTH = 8
const SHAPE = /^svc_(?:sk|sa|at|pat|pk|oat)_[0-9A-Za-z]{49}$/

const checksum = (text: string): string => {
  let left = crc32(text)
  let digits = ""
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = BASE62[left % 62] + digits
    left = Math.floor(left / 62)
  }
  return digits
}

/**
 * A new secret: the type's prefix, 43 random base62 characters (256 bits) and the CRC32 of both as 6 more, so that a
 * mistyped or made-up key is refused without a look-up and secret scanners can tell a real one (GitHub's token format).
 */
export const newSecret = (type: KeyType): string => {
  let text: string = prefixes[type]
  for (let at = 0; at < RANDOM_LENGTH; at++) text += BASE62[randomInt(62)]
  return text + checksum(text)
}

export const isWellFormed = (secret: string): boolean =>
  SHAPE.test(secret) && checksum(secret.slice(0, -CHECKSUM_LENGTH)) === secret.slice(-CHECKSUM_LENGTH)

/** What stays visible of a secret after its creation. */
export const visiblePrefix = (type: KeyType, secret: string): string =>
  secret.slice(0, prefixes[type].length + VISIBLE_LENGTH)

/** A fast hash is enough: 256 random bits cannot be guessed, however fast the guesses are checked (ASVS 5, 6.5.2). */
export const secretHash = (secret: string): string => hash("sha256", secret, "base64")
