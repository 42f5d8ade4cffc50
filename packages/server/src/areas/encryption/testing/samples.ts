/** Valid inputs of the operations of encryption, for the tests that hold for every operation. */
import type { Sample } from "../../../testing/sample-world.ts"

export const samples = {
  "encryption.encrypt": async () => ({ plaintext: "hello" }),
  "encryption.rewrap": async ({ key }) => {
    const made = await key.encryption.encrypt({ plaintext: "hello" })
    return { ciphertext: "ciphertext" in made ? made.ciphertext : "" }
  },
  "encryption.rotateKey": async () => ({}),
  "encryption.updateKey": async ({ key }) => {
    await key.encryption.encrypt({ plaintext: "for the first key" })
    return { min_decryption_version: 1 }
  },
} satisfies Readonly<Record<string, Sample>>
