import { hkdfSync } from "node:crypto"

/** 32 bytes for one purpose and name, the same in all processes that have the master key. */
export type DeriveSecret = (purpose: string, name: string) => Buffer

export const createDeriveSecret =
  (masterKey: Buffer): DeriveSecret =>
  (purpose, name) =>
    Buffer.from(hkdfSync("sha256", masterKey, purpose, name, 32))
