import { createHash, hash } from "node:crypto"

export type DigestAlgorithm = "sha256" | "sha512"

/** Of a digest that fits the schema. */
export const algorithmOf = (digest: string): DigestAlgorithm =>
  digest.startsWith("sha512:") ? "sha512" : "sha256"

export const digestOf = (algorithm: DigestAlgorithm, content: Uint8Array): string =>
  `${algorithm}:${hash(algorithm, content)}`

export const digestOfAll = async (
  algorithm: DigestAlgorithm,
  source: AsyncIterable<Uint8Array>,
): Promise<string> => {
  const hashed = createHash(algorithm)
  for await (const chunk of source) hashed.update(chunk)
  return `${algorithm}:${hashed.digest("hex")}`
}

const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/

export const isDigest = (text: unknown): text is string => typeof text === "string" && DIGEST.test(text)
