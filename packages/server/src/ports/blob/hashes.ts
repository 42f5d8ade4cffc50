/** Several hashes of one stream, computed while it passes. */
import { createHash } from "node:crypto"
import { crc32 } from "node:zlib"
import { startCrc32c, startCrc64nvme } from "./crc.ts"
import type { HashName, StagedBlob } from "./port.ts"

interface Hash {
  update(bytes: Uint8Array): void
  digest(): Buffer
}

const startCrc32 = (): Hash => {
  let value = 0
  return {
    update(bytes) {
      value = crc32(bytes, value)
    },
    digest() {
      const digest = Buffer.alloc(4)
      digest.writeUInt32BE(value)
      return digest
    },
  }
}

const starts: Readonly<Record<HashName, () => Hash>> = {
  md5: () => createHash("md5"),
  sha1: () => createHash("sha1"),
  sha256: () => createHash("sha256"),
  crc32: startCrc32,
  crc32c: startCrc32c,
  crc64nvme: startCrc64nvme,
}

export interface Hashes {
  update(bytes: Uint8Array): void
  /** Once, at the end; SHA-256 always, and what was asked for. */
  digests(): { readonly sha256: Buffer; readonly asked: StagedBlob["hashes"] }
}

export const startHashes = (names: readonly HashName[] = []): Hashes => {
  const running = new Map([...new Set<HashName>(["sha256", ...names])].map(name => [name, starts[name]()]))
  return {
    update(bytes) {
      for (const hash of running.values()) hash.update(bytes)
    },
    digests() {
      const all = new Map([...running].map(([name, hash]) => [name, hash.digest()]))
      return {
        sha256: all.get("sha256") ?? Buffer.alloc(0),
        asked: Object.fromEntries(names.map(name => [name, all.get(name)])),
      }
    },
  }
}
