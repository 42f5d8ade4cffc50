/** Wraps under a key derived from the platform's master key. */
import { createSecretKey, hkdfSync } from "node:crypto"
import { open, seal } from "../../../../kernel/aead.ts"
import { PortError } from "../../../port-error.ts"
import type { SecretsPort } from "../../port.ts"

/** How a text begins that this driver wrapped: `svc:wrap1:` and base64 of `nonce | ciphertext | tag`. */
export const LOCAL_PREFIX = "svc:wrap1:"

const KEY_BYTES = 32

/** `masterKey` has 32 bytes. The wrapping key is HKDF-SHA256 of it, with the salt `svc:wrap1` and no info. */
export const openLocalSecrets = ({ masterKey }: { readonly masterKey: Uint8Array }): SecretsPort => {
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", masterKey, "svc:wrap1", "", KEY_BYTES)))

  return {
    wrap: async (plaintext, context) => LOCAL_PREFIX + seal(key, context, plaintext).toString("base64"),
    async unwrap(wrapped, context) {
      const plaintext = wrapped.startsWith(LOCAL_PREFIX)
        ? open(key, context, Buffer.from(wrapped.slice(LOCAL_PREFIX.length), "base64"))
        : undefined
      if (!plaintext) throw new PortError("refused", "the key was not wrapped so under this master key")
      return plaintext
    },
    health: async () => ({ ok: true, generation: LOCAL_PREFIX }),
    async [Symbol.asyncDispose]() {},
  }
}
