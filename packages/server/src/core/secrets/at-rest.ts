import { isEncrypted, type SecretBox } from "./secret-box.ts"

/**
 * Encrypts what tenants store, with the tenant's key, where the operator asks for it (SVC_ENCRYPT_AT_REST). What is
 * stored is read whether it was encrypted or not, so the setting can change at any time. `context` says what and whose a
 * content is, and must be the same to read it.
 */
export interface AtRest {
  readonly encrypts: boolean
  /** Text that begins as an encrypted one is always encrypted, or it would be taken for one when it is read. */
  write(tenantId: string, context: string, text: string): Eventually<string>
  /** Throws a NotDecryptable when the tenant was erased. */
  read(tenantId: string, context: string, stored: string): Eventually<string>
  writeBytes(tenantId: string, context: string, bytes: Buffer): Promise<Buffer>
  readBytes(tenantId: string, context: string, stored: Buffer): Promise<Buffer>
}

/** What was stored in clear is given at once: a promise would cost more than a read from memory. */
type Eventually<T> = T | Promise<T>

export const createAtRest = (box: SecretBox, encrypts: boolean): AtRest => ({
  encrypts,
  write: (tenantId, context, text) =>
    encrypts || isEncrypted(text) ? box.seal(tenantId, context, text) : text,
  read: (tenantId, context, stored) => (isEncrypted(stored) ? box.open(tenantId, context, stored) : stored),
  writeBytes: async (tenantId, context, bytes) =>
    encrypts || isEncrypted(bytes) ? box.sealBytes(tenantId, context, bytes) : bytes,
  readBytes: async (tenantId, context, stored) =>
    isEncrypted(stored) ? box.openBytes(tenantId, context, stored) : stored,
})
