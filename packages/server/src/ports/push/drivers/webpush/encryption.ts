/** Message encryption for Web Push (RFC 8291): the content coding aes128gcm (RFC 8188) under a key agreed by ECDH. */
import { createCipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto"

const SALT_BYTES = 16
const TAG_BYTES = 16
/** One record: push services take 4,096 bytes (RFC 8030, 7.2). */
const RECORD_BYTES = 4096
const HEADER_BYTES = SALT_BYTES + 4 + 1 + 65
const LAST_RECORD = 2

/** Bytes of plaintext that fit a message of 4,096 bytes. */
export const WEB_PUSH_PLAINTEXT_BYTES_MAX = RECORD_BYTES - HEADER_BYTES - TAG_BYTES - 1

export interface Receiver {
  /** An uncompressed point of P-256. */
  readonly publicKey: Buffer
  /** 16 bytes. */
  readonly authSecret: Buffer
}

/** What is new for each message. Tests put those of the RFC's example in its place. */
export interface Ephemeral {
  readonly privateKey: Buffer | undefined
  readonly salt: Buffer
}

const derive = (secret: Buffer, salt: Buffer, info: Buffer | string, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, salt, info, bytes))

/** Throws where the public key is no point of the curve. */
export const encrypt = (
  plaintext: Buffer,
  { publicKey, authSecret }: Receiver,
  { privateKey, salt }: Ephemeral = { privateKey: undefined, salt: randomBytes(SALT_BYTES) },
): Buffer => {
  const ecdh = createECDH("prime256v1")
  if (privateKey) ecdh.setPrivateKey(privateKey)
  else ecdh.generateKeys()
  const sender = ecdh.getPublicKey()
  const shared = ecdh.computeSecret(publicKey)
  const keyInfo = Buffer.concat([Buffer.from("WebPush: info\0"), publicKey, sender])
  const secret = derive(shared, authSecret, keyInfo, 32)
  const key = derive(secret, salt, "Content-Encoding: aes128gcm\0", 16)
  const nonce = derive(secret, salt, "Content-Encoding: nonce\0", 12)

  const cipher = createCipheriv("aes-128-gcm", key, nonce)
  const header = Buffer.alloc(SALT_BYTES + 5)
  salt.copy(header)
  header.writeUInt32BE(RECORD_BYTES, SALT_BYTES)
  header[SALT_BYTES + 4] = sender.length
  return Buffer.concat([
    ...[header, sender, cipher.update(plaintext), cipher.update(Buffer.of(LAST_RECORD))],
    ...[cipher.final(), cipher.getAuthTag()],
  ])
}
