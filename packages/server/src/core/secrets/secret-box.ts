import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto"
import { open, seal } from "../../kernel/aead.ts"
import type { TenantKeys } from "./tenant-keys.ts"

/** Seals what the platform keeps for a tenant and must be able to read again. */
export interface SecretBox {
  /** `context` says what and whose the text is; it must be the same to open it. */
  seal(tenantId: string, context: string, plaintext: string): Promise<string>
  /** Throws a NotDecryptable when tenant, context or a single bit differ, and when the tenant was erased. */
  open(tenantId: string, context: string, sealed: string): Promise<string>
  sealBytes(tenantId: string, context: string, plaintext: Uint8Array): Promise<Buffer>
  openBytes(tenantId: string, context: string, sealed: Buffer): Promise<Buffer>
}

export class NotDecryptable extends Error {
  constructor() {
    super("a sealed text does not open for this tenant and context")
    this.name = "NotDecryptable"
  }
}

/** `svc:box2:v3:` and base64url of `nonce | ciphertext | tag`, under version 3 of the tenant's key. */
const FORM = /^svc:box2:v([1-9]\d{0,8}):([\w-]+)$/
/** Of bytes: `svc:box2:v3:` and `nonce | ciphertext | tag` as they are. */
const BYTES_FORM = /^svc:box2:v([1-9]\d{0,8}):/
const PREFIX = "svc:box2:"
const PREFIX_BYTES = Buffer.from(PREFIX)
const FORM_BYTES_MAX = 24
/** Texts from before tenants had keys of their own: under a key derived from the master key and the tenant's id. */
const OLD_PREFIX = "svc:box1:"
const KEY_BYTES = 32

/** Whether it is, or pretends to be, what `seal` or `sealBytes` gave. */
export const isEncrypted = (stored: string | Buffer): boolean =>
  typeof stored === "string"
    ? stored.startsWith(PREFIX)
    : stored.subarray(0, PREFIX_BYTES.length).equals(PREFIX_BYTES)

const associated = (tenantId: string, version: number, context: string): string =>
  `${tenantId}|${version}|${context}`

export const createSecretBox = (needs: {
  readonly tenantKeys: TenantKeys
  readonly masterKey: Buffer
}): SecretBox => {
  const { tenantKeys, masterKey } = needs

  const oldKey = async (tenantId: string): Promise<KeyObject | undefined> => {
    if ((await tenantKeys.ring(tenantId)).erased) return undefined
    return createSecretKey(Buffer.from(hkdfSync("sha256", masterKey, "svc:box1", tenantId, KEY_BYTES)))
  }

  const openOld = async (tenantId: string, context: string, sealed: string) => {
    const key = await oldKey(tenantId)
    return key && open(key, context, Buffer.from(sealed.slice(OLD_PREFIX.length), "base64url"))
  }

  const openSealed = async (tenantId: string, context: string, sealed: string) => {
    if (sealed.startsWith(OLD_PREFIX)) return openOld(tenantId, context, sealed)
    const [, version, text = ""] = FORM.exec(sealed) ?? []
    const key = await tenantKeys.forOpening(tenantId, "platform", Number(version ?? 0))
    return key && open(key, associated(tenantId, Number(version), context), Buffer.from(text, "base64url"))
  }

  const sealOnce = async (tenantId: string, context: string, plaintext: Uint8Array) => {
    const sealing = await tenantKeys.forSealing(tenantId, "platform")
    if (!sealing) throw new Error("the tenant's key is used up")
    const { version, key } = sealing
    const sealed = seal(key, associated(tenantId, version, context), plaintext)
    return { start: `${PREFIX}v${version}:`, sealed }
  }

  return {
    async seal(tenantId, context, plaintext) {
      const { start, sealed } = await sealOnce(tenantId, context, Buffer.from(plaintext))
      return `${start}${sealed.toString("base64url")}`
    },

    async open(tenantId, context, sealed) {
      const plaintext = await openSealed(tenantId, context, sealed)
      if (!plaintext) throw new NotDecryptable()
      return plaintext.toString("utf8")
    },

    async sealBytes(tenantId, context, plaintext) {
      const { start, sealed } = await sealOnce(tenantId, context, plaintext)
      return Buffer.concat([Buffer.from(start), sealed])
    },

    async openBytes(tenantId, context, sealed) {
      const [start, version] = BYTES_FORM.exec(sealed.toString("latin1", 0, FORM_BYTES_MAX)) ?? []
      const key = start && (await tenantKeys.forOpening(tenantId, "platform", Number(version)))
      const plaintext =
        key && open(key, associated(tenantId, Number(version), context), sealed.subarray(start.length))
      if (!plaintext) throw new NotDecryptable()
      return plaintext
    },
  }
}
