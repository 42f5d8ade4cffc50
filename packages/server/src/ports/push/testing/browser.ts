/** The other end of Web Push: a browser with its subscription, which decrypts by a library that is not ours. */
import { createECDH, type ECDH, randomBytes } from "node:crypto"
import { createRequire } from "node:module"

interface Ece {
  decrypt(
    body: Buffer,
    options: { readonly version: "aes128gcm"; readonly privateKey: ECDH; readonly authSecret: string },
  ): Buffer
}

// It has no types of its own.
const ece = createRequire(import.meta.url)("http_ece") as Ece

export const createBrowser = (endpoint: string) => {
  const privateKey = createECDH("prime256v1")
  const p256dh = privateKey.generateKeys().toString("base64url")
  const auth = randomBytes(16).toString("base64url")
  return {
    subscription: { endpoint, expirationTime: null, keys: { p256dh, auth } },
    /** What a service worker would get. */
    read: (body: Buffer): unknown =>
      JSON.parse(ece.decrypt(body, { version: "aes128gcm", privateKey, authSecret: auth }).toString("utf8")),
  }
}
