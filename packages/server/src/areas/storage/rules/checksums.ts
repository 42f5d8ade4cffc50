/** Digests that come with an upload, and those of objects made of parts. */
import { createHash } from "node:crypto"
import { fault } from "../../../kernel/fault.ts"
import { startHashes } from "../../../ports/blob/hashes.ts"
import type { HashName } from "../../../ports/blob/port.ts"
import type { Checksums } from "../object-store.ts"

export type Digests = Readonly<Partial<Record<HashName, Buffer>>>

const BYTES = { md5: 16, sha1: 20, sha256: 32, crc32: 4, crc32c: 4, crc64nvme: 8 } as const satisfies Record<
  HashName,
  number
>
export const CHECKSUM_NAMES = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"] as const

/** Undefined for what is no digest of that algorithm. */
export const readDigest = (name: HashName, text: string): Buffer | undefined => {
  const digest = Buffer.from(text, "base64")
  return digest.length === BYTES[name] && digest.toString("base64") === text ? digest : undefined
}

/** Throws 400 for what is no digest of that algorithm. */
export const parseDigest = (name: HashName, text: string): Buffer => {
  const digest = readDigest(name, text)
  if (digest) return digest
  throw fault("invalid_parameter", { reason: `the ${name} checksum is not ${BYTES[name]} bytes of base64` })
}

/** `Content-MD5`, `x-svc-checksum-*` and, for clients of S3, `x-amz-checksum-*`. */
export const readExpected = (header: (name: string) => string | undefined): Digests => {
  const expected: Partial<Record<HashName, Buffer>> = {}
  const md5 = header("content-md5")
  if (md5 !== undefined) expected.md5 = parseDigest("md5", md5)
  for (const name of CHECKSUM_NAMES) {
    const text = header(`x-svc-checksum-${name}`) ?? header(`x-amz-checksum-${name}`)
    if (text !== undefined) expected[name] = parseDigest(name, text)
  }
  return expected
}

export const checkDigests = (expected: Digests, actual: Digests): void => {
  for (const [name, digest] of Object.entries(expected) as [HashName, Buffer][]) {
    if (!actual[name]?.equals(digest)) throw fault("checksum_mismatch", { algorithm: name })
  }
}

/** As they are kept with an object; MD5 is the ETag already. */
export const storedChecksums = ({ md5: _etag, ...digests }: Digests): Checksums =>
  Object.fromEntries(Object.entries(digests).map(([name, digest]) => [name, digest.toString("base64")]))

/** S3's ETag of an object made of parts. */
export const compositeEtag = (etags: readonly string[]): string => {
  const md5 = createHash("md5")
  for (const etag of etags) md5.update(Buffer.from(etag, "hex"))
  return `${md5.digest("hex")}-${etags.length}`
}

/** S3's composite checksum: that of the parts' checksums one after the other, `-` and how many they are. */
export const compositeChecksum = (name: HashName, parts: readonly string[]): string => {
  const hashes = startHashes([name])
  for (const part of parts) hashes.update(Buffer.from(part, "base64"))
  return `${hashes.digests().asked[name]?.toString("base64")}-${parts.length}`
}
