/**
 * A login that always fails, for branches that do not exist: PostgreSQL goes through the same exchange for users that
 * do not (its "mock authentication"), so that nobody learns which ones do.
 */
import { createHmac, randomBytes } from "node:crypto"
import type { Socket } from "node:net"
import { readBytes } from "./reading.ts"

const MECHANISM = "SCRAM-SHA-256"
const SASL = 10
const SASL_CONTINUE = 11
/** PostgreSQL's defaults: scram_iterations, and the lengths of its salts and nonces. */
const ITERATIONS = 4096
const SALT_BYTES = 16
const NONCE_BYTES = 18
const PASSWORD = 0x70
const MESSAGE_BYTES_MAX = 4 * 1024

const authentication = (code: number, body: string): Buffer => {
  const message = Buffer.alloc(9 + Buffer.byteLength(body), "R")
  message.writeInt32BE(message.length - 1, 1)
  message.writeInt32BE(code, 5)
  message.write(body, 9)
  return message
}

/** The payload of the client's next SASL message. */
const readSasl = async (stream: Socket): Promise<string | undefined> => {
  const head = await readBytes(stream, 5)
  if (head?.[0] !== PASSWORD) return undefined
  const length = head.readInt32BE(1) - 4
  if (length <= 0 || length > MESSAGE_BYTES_MAX) return undefined
  return (await readBytes(stream, length))?.toString("latin1")
}

/**
 * Goes through SCRAM (RFC 5802) up to the client's proof; what it is makes no difference. The salt is the same each time
 * for the same user and branch. False when the client went away or did not keep to the exchange.
 */
export const mockLogin = async (
  stream: Socket,
  { secret, identity }: { secret: Buffer; identity: string },
): Promise<boolean> => {
  stream.write(authentication(SASL, `${MECHANISM}\0\0`))
  const first = await readSasl(stream)
  const nonce = first && /,r=([\x21-\x2b\x2d-\x7e]+)/.exec(first)?.[1]
  if (!nonce) return false
  const salt = createHmac("sha256", secret).update(identity).digest().subarray(0, SALT_BYTES)
  const challenge = `r=${nonce}${randomBytes(NONCE_BYTES).toString("base64")},s=${salt.toString("base64")},i=${ITERATIONS}`
  stream.write(authentication(SASL_CONTINUE, challenge))
  return (await readSasl(stream)) !== undefined
}
