/** What every driver refuses before it asks its engine. */
import { PortError } from "../port-error.ts"
import type { KvOp, KvWrite } from "./port.ts"

export const KEY_BYTES_MAX = 1024
/** What callers may store, encrypted and in base64. */
export const VALUE_BYTES_MAX = 1536 * 1024
/** Keys of one delete, exists or page. */
export const KEYS_MAX = 1000
export const BATCH_OPS_MAX = 100
/** How many entries one step of `erase` or `sweep` takes, so that neither holds up the writers beside it. */
export const STEP_MAX = 1000

const refuse = (message: string): never => {
  throw new PortError("refused", message)
}

/**
 * A character takes at least one byte of UTF-8 and at most three per UTF-16 unit, so most texts need no
 * counting.
 */
const exceedsBytes = (text: string, bytesMax: number): boolean =>
  text.length > bytesMax || (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax)

export const checkKey = (key: string): void => {
  if (key.length === 0 || exceedsBytes(key, KEY_BYTES_MAX)) refuse(`a key has 1 to ${KEY_BYTES_MAX} bytes`)
  // UTF-8 has no form for half a surrogate pair: all of them would become the same key.
  if (!key.isWellFormed()) refuse("a key is well-formed Unicode")
}

export const checkKeys = (keys: readonly string[]): void => {
  if (keys.length > KEYS_MAX) refuse(`at most ${KEYS_MAX} keys`)
  keys.forEach(checkKey)
}

export const checkWrite = ({ value, expiresAt, onlyIf }: KvWrite): void => {
  if (exceedsBytes(value, VALUE_BYTES_MAX)) refuse(`a value has at most ${VALUE_BYTES_MAX} bytes`)
  if (!value.isWellFormed()) refuse("a value is well-formed Unicode")
  if (expiresAt !== null && !(Number.isSafeInteger(expiresAt) && expiresAt > 0))
    refuse("an expiry is in milliseconds")
  if (onlyIf?.version !== undefined && !Number.isSafeInteger(onlyIf.version))
    refuse("a version is an integer")
}

export const checkOps = (ops: readonly KvOp[]): void => {
  if (ops.length > BATCH_OPS_MAX) refuse(`at most ${BATCH_OPS_MAX} operations`)
  for (const op of ops) {
    checkKey(op.key)
    if (op.op === "set") checkWrite(op.write)
  }
}
