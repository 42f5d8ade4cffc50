/** What may be called a bucket, and a key. */
import { isIPv4 } from "node:net"
import { OBJECT_KEY_BYTES_MAX } from "@svc/contract"
import { fault } from "../../../kernel/fault.ts"

const BUCKET = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
/** Of host names that mean something else, and of routes beside the buckets' own. */
const RESERVED: ReadonlySet<string> = new Set(["s3", "public", "signed", "uploads"])

/** S3's rules for general purpose buckets, so that every name works in a host name too. */
export const checkBucketName = (name: string): void => {
  const isValid =
    name.length >= 3 && name.length <= 63 && BUCKET.test(name) && !isIPv4(name) && !name.startsWith("xn--")
  if (!isValid)
    throw fault("invalid_name", {
      reason: "3 to 63 lower-case letters, digits, hyphens and dots, as labels of a host name",
    })
  if (RESERVED.has(name)) throw fault("invalid_name", { reason: "it is reserved" })
}

export const checkKey = (key: string): void => {
  if (key === "") throw fault("invalid_parameter", { reason: "key is empty" })
  // A character takes at most three bytes per UTF-16 unit, so most keys need no counting.
  if (key.length * 3 > OBJECT_KEY_BYTES_MAX && Buffer.byteLength(key) > OBJECT_KEY_BYTES_MAX)
    throw fault("invalid_parameter", { reason: `key has more than ${OBJECT_KEY_BYTES_MAX} bytes` })
  if (!key.isWellFormed() || key.includes("\0"))
    throw fault("invalid_parameter", { reason: "key is not text that UTF-8 can hold" })
}

const HIGHEST = 0x10ffff

/**
 * The least text that comes after everything which begins with `prefix`, in the order of UTF-8's bytes, which is that of
 * code points. Undefined when nothing does.
 */
export const successorOf = (prefix: string): string | undefined => {
  const points = [...prefix]
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0
    // The code points of surrogates have no form in UTF-8.
    if (point < HIGHEST) return points.join("") + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1)
  }
  return undefined
}
