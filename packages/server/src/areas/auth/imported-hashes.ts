/** Hashes of passwords as other systems export them. */
import { createCipheriv, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto"

/** Whether the password, exactly as it was typed, is the one that was hashed. */
type Check = (password: string) => Promise<boolean>

export interface ImportedHash {
  readonly matches: Check
  /** Bytes of a password that count; what comes after them may be a mistake that nobody notices. */
  readonly bytesMax?: number
}

const MIB = 1024 * 1024

/** Each sign-in pays the cost of a hash, and whoever imports chooses it. */
const BCRYPT_COST_MAX = 12
const ARGON2_KIB_MAX = 65_536
const ARGON2_WORK_MAX = 4 * ARGON2_KIB_MAX
const SCRYPT_MEMORY_MAX = 64 * MIB
const SCRYPT_WORK_MAX = 128 * MIB
const LANES_MAX = 8
/** Of a salt and of a hash. */
const BYTES_MAX = 128
const SIGNER_KEY_BYTES_MAX = 256

const TOO_COSTLY = "the hash is too costly to check at each sign-in"
const MALFORMED = "the hash is not written as its kind says"
const BCRYPT_BYTES_MAX = 72

/** In either alphabet, with or without the padding, because exports differ; undefined for anything else. */
const fromBase64 = (text: string, bytesMax = BYTES_MAX): Buffer | undefined => {
  if (!/^[\w+/-]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, "base64")
  const rest = (found: string) => found.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  const isExact = rest(bytes.toString("base64")) === rest(text)
  return isExact && bytes.length <= bytesMax ? bytes : undefined
}

const isEqual = (left: Buffer, right: Buffer): boolean =>
  left.length === right.length && timingSafeEqual(left, right)

const derive = (password: string, salt: Buffer, length: number, options: ScryptOptions): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password, salt, length, options, (error, key) => (error ? reject(error) : resolve(key)))
  })

const readBcrypt = (text: string): ImportedHash | string => {
  const [, digits] = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(text) ?? []
  const cost = Number(digits)
  if (digits === undefined || cost < 4) return MALFORMED
  if (cost > BCRYPT_COST_MAX) return TOO_COSTLY
  const matches: Check = async password => (await import("@node-rs/bcrypt")).verify(password, text)
  return { matches, bytesMax: BCRYPT_BYTES_MAX }
}

const readArgon2 = (text: string): ImportedHash | string => {
  const form = /^\$argon2id?\$v=19\$m=(\d{1,9}),t=(\d{1,9}),p=(\d{1,9})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
  const [, m, t, p, salt = "", digest = ""] = form.exec(text) ?? []
  const [memory, passes, lanes] = [Number(m), Number(t), Number(p)]
  if (!(memory >= 8 * lanes && passes >= 1 && lanes >= 1)) return MALFORMED
  const saltBytes = fromBase64(salt, 48)?.length ?? 0
  const digestBytes = fromBase64(digest, 64)?.length ?? 0
  if (saltBytes < 8 || digestBytes < 10) return MALFORMED
  if (memory > ARGON2_KIB_MAX || memory * passes > ARGON2_WORK_MAX || lanes > LANES_MAX) return TOO_COSTLY
  return { matches: async password => (await import("@node-rs/argon2")).verify(text, password) }
}

/** Undefined where the parameters are too costly. */
const scryptOptions = (logN: number, r: number, p: number): ScryptOptions | undefined => {
  const N = 2 ** logN
  const memory = 128 * N * r
  if (memory > SCRYPT_MEMORY_MAX || memory * p > SCRYPT_WORK_MAX || p > LANES_MAX) return undefined
  // The blocks, and what the library counts beside them.
  return { N, r, p, maxmem: memory + 128 * r * p + MIB }
}

const readScrypt = (text: string): ImportedHash | string => {
  const form = /^\$scrypt\$ln=([1-9]\d?),r=([1-9]\d{0,3}),p=([1-9]\d{0,3})\$([^$]+)\$([^$]+)$/
  const [, logN, r, p, saltText = "", digestText = ""] = form.exec(text) ?? []
  const salt = fromBase64(saltText)
  const digest = fromBase64(digestText)
  if (!salt || !digest || digest.length < 16) return MALFORMED
  const options = scryptOptions(Number(logN), Number(r), Number(p))
  if (!options) return TOO_COSTLY
  return {
    matches: async password => isEqual(await derive(password, salt, digest.length, options), digest),
  }
}

/** Firebase's: the key that scrypt derives encrypts the signer key of the project, and the result is the hash. */
const readFirebase = (text: string): ImportedHash | string => {
  const form =
    /^\$fbscrypt\$v=1,n=([1-9]\d?),r=([1-9]\d{0,3}),p=([1-9]\d{0,3}),(?:ss=([^,$]*),)?sk=([^,$]+)\$([^$]+)\$([^$]+)$/
  const [, logN, r, p, separatorText = "", keyText = "", saltText = "", digestText = ""] =
    form.exec(text) ?? []
  const separator = separatorText === "" ? Buffer.alloc(0) : fromBase64(separatorText)
  const signerKey = fromBase64(keyText, SIGNER_KEY_BYTES_MAX)
  const salt = fromBase64(saltText)
  const digest = fromBase64(digestText, SIGNER_KEY_BYTES_MAX)
  if (!separator || !signerKey || !salt || !digest || signerKey.length < 16) return MALFORMED
  if (digest.length !== signerKey.length) return MALFORMED
  const options = scryptOptions(Number(logN), Number(r), Number(p))
  if (!options) return TOO_COSTLY
  return {
    async matches(password) {
      const key = await derive(password, Buffer.concat([salt, separator]), 32, options)
      return isEqual(createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(signerKey), digest)
    },
  }
}

/** The hash, or why it is refused. */
export const readHash = (text: string): ImportedHash | string => {
  if (text.startsWith("$2")) return readBcrypt(text)
  if (text.startsWith("$argon2")) return readArgon2(text)
  if (text.startsWith("$scrypt$")) return readScrypt(text)
  if (text.startsWith("$fbscrypt$")) return readFirebase(text)
  return "the hash is of no known kind"
}

export interface FirebaseParameters {
  readonly signer_key: string
  readonly salt_separator: string
  readonly rounds: number
  readonly memory_cost: number
}

/** Writes what Firebase exports in three places as one text, which is how GoTrue writes it too. */
export const firebaseHash = (parameters: FirebaseParameters, salt: string, digest: string): string => {
  const { signer_key, salt_separator, rounds, memory_cost } = parameters
  return `$fbscrypt$v=1,n=${memory_cost},r=${rounds},p=1,ss=${salt_separator},sk=${signer_key}$${salt}$${digest}`
}
