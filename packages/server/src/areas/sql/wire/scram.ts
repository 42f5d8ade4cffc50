/** SCRAM-SHA-256 (RFC 5802 and 7677): what both sides share, and a client's, for logging in to servers for somebody. */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto"
import type { Duplex } from "node:stream"
import { promisify } from "node:util"
import { readBytes } from "./reading.ts"

export const AUTHENTICATION_OK = 0
export const SASL = 10
export const SASL_CONTINUE = 11
export const SASL_FINAL = 12
export const MECHANISM = "SCRAM-SHA-256"
const AUTHENTICATION = 0x52
const ERROR = 0x45
const NOTICE = 0x4e
const MESSAGE_BYTES_MAX = 64 * 1024
/** PostgreSQL's own default is 4,096. */
const ITERATIONS_MAX = 1_000_000

export interface Message {
  readonly type: number
  readonly payload: Buffer
  /** The message as it came. */
  readonly whole: Buffer
}

/** The next message of a paused stream; undefined when it ends before, or is none that a login has. */
export const readMessage = async (stream: Duplex): Promise<Message | undefined> => {
  const head = await readBytes(stream, 5)
  if (!head) return undefined
  const length = head.readInt32BE(1) - 4
  if (length < 0 || length > MESSAGE_BYTES_MAX) return undefined
  const payload = length === 0 ? Buffer.alloc(0) : await readBytes(stream, length)
  return payload && { type: head.readUInt8(0), payload, whole: Buffer.concat([head, payload]) }
}

export const message = (type: string, payload: string | Buffer): Buffer => {
  const body = Buffer.from(payload)
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** An Authentication message with its code. */
export const authentication = (code: number, body = ""): Buffer => {
  const head = Buffer.alloc(4)
  head.writeInt32BE(code)
  return message("R", Buffer.concat([head, Buffer.from(body)]))
}

export const authenticationCode = ({ type, payload }: Message): number | undefined =>
  type === AUTHENTICATION && payload.length >= 4 ? payload.readInt32BE(0) : undefined

/** What proves to a server that a client knows a role's password, and the other way round. */
export interface ScramKeys {
  readonly clientKey: Buffer
  readonly serverKey: Buffer
}

/** Of a server's challenge. */
export interface ScramChallenge {
  readonly salt: string
  readonly iterations: number
}

/** Finds the keys for a server's salt; undefined breaks the login off. */
export type KeysFor = (challenge: ScramChallenge) => Promise<ScramKeys | undefined>

export const hmac = (key: Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()
export const sha256 = (bytes: Buffer): Buffer => createHash("sha256").update(bytes).digest()
export const xor = (left: Buffer, right: Buffer): Buffer =>
  left.map((byte, at) => byte ^ (right[at] ?? 0)) as Buffer

export const attributesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(text.split(",").map(part => [part.slice(0, 1), part.slice(2)]))

const stretch = promisify(pbkdf2)

export const keysOfPassword =
  (password: string): KeysFor =>
  async ({ salt, iterations }) => {
    if (!(iterations > 0 && iterations <= ITERATIONS_MAX)) return undefined
    // PostgreSQL takes a password that SASLprep forbids as it is; ASCII is the same either way.
    const salted = await stretch(
      password.normalize("NFKC"),
      Buffer.from(salt, "base64"),
      iterations,
      32,
      "sha256",
    )
    return { clientKey: hmac(salted, "Client Key"), serverKey: hmac(salted, "Server Key") }
  }

/** The answer to the server's challenge, and the signature by which it has to prove that it knows the password too. */
const respond = async (keysFor: KeysFor, nonce: string, challenge: string) => {
  const attributes = attributesOf(challenge)
  const [serverNonce = "", salt = ""] = [attributes.get("r"), attributes.get("s")]
  if (!serverNonce.startsWith(nonce)) return undefined
  const keys = await keysFor({ salt, iterations: Number(attributes.get("i")) })
  if (!keys) return undefined
  const withoutProof = `c=biws,r=${serverNonce}`
  const exchanged = `n=,r=${nonce},${challenge},${withoutProof}`
  const proof = xor(keys.clientKey, hmac(sha256(keys.clientKey), exchanged)).toString("base64")
  return { response: `${withoutProof},p=${proof}`, signature: hmac(keys.serverKey, exchanged) }
}

const proves = (payload: Buffer, signature: Buffer): boolean => {
  const given = Buffer.from(attributesOf(payload.toString("latin1", 4)).get("v") ?? "", "base64")
  return given.length === signature.length && timingSafeEqual(given, signature)
}

/** The next message that is no notice. */
const nextOf = async (server: Duplex): Promise<Message | undefined> => {
  let found = await readMessage(server)
  while (found?.type === NOTICE) found = await readMessage(server)
  return found
}

/**
 * Logs in where a server asked for SASL. Resolves with undefined when it let in, and with its ErrorResponse otherwise; rejects
 * when it went away, or does not know the password itself.
 */
export const logIn = async (server: Duplex, keysFor: KeysFor): Promise<Buffer | undefined> => {
  const nonce = randomBytes(18).toString("base64")
  const first = Buffer.from(`n,,n=,r=${nonce}`)
  const length = Buffer.alloc(4)
  length.writeInt32BE(first.length)
  server.write(message("p", Buffer.concat([Buffer.from(`${MECHANISM}\0`), length, first])))
  let signature: Buffer | undefined
  for (let found = await nextOf(server); found; found = await nextOf(server)) {
    const code = authenticationCode(found)
    if (found.type === ERROR) return found.whole
    if (code === AUTHENTICATION_OK && signature) return undefined
    if (code === SASL_FINAL && signature && proves(found.payload, signature)) continue
    if (code !== SASL_CONTINUE) break
    const answer = await respond(keysFor, nonce, found.payload.toString("latin1", 4))
    if (!answer) break
    signature = answer.signature
    server.write(message("p", answer.response))
  }
  throw new Error("the server broke off the login")
}
