import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, randomUUID } from "node:crypto"
import { link, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { StartupError } from "../../kernel/startup-error.ts"

/** Seals what the platform keeps for a tenant and must be able to read again. */
export interface SecretBox {
  /** `context` says what and whose the text is; it must be the same to open it. */
  seal(tenantId: string, context: string, plaintext: string): string
  /** Throws when tenant, context or a single bit differ. */
  open(tenantId: string, context: string, sealed: string): string
}

const PREFIX = "svc:box1:"
const CIPHER = "aes-256-gcm"
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM under a key of the tenant's own, derived from the master key (HKDF-SHA256). */
export const createSecretBox = (masterKey: Buffer): SecretBox => {
  const tenantKey = (tenantId: string) =>
    Buffer.from(hkdfSync("sha256", masterKey, "svc:box1", tenantId, KEY_BYTES))

  return {
    seal(tenantId, context, plaintext) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, tenantKey(tenantId), nonce).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([
        nonce,
        cipher.update(plaintext, "utf8"),
        cipher.final(),
        cipher.getAuthTag(),
      ])
      return PREFIX + sealed.toString("base64url")
    },

    open(tenantId, context, sealed) {
      if (!sealed.startsWith(PREFIX)) throw new Error("not a sealed text of this platform")
      const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64url")
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv(CIPHER, tenantKey(tenantId), nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      return (
        decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8")
      )
    },
  }
}

const parse = (text: string, source: string): Buffer => {
  const key = Buffer.from(text.trim(), "base64")
  if (key.length === KEY_BYTES) return key
  throw new StartupError(
    `The master key in ${source} is not 32 bytes of base64.`,
    "Make one with: openssl rand -base64 32",
  )
}

/** The master key: the setting's, or the one in `master.key`, made on the first start and readable by its owner only. */
export const loadMasterKey = async (dataDir: string, setting: string | undefined): Promise<Buffer> => {
  if (setting !== undefined) return parse(setting, "SVC_MASTER_KEY")
  const path = join(dataDir, "master.key")
  const read = () => readFile(path, "utf8").catch(() => undefined)
  const known = await read()
  if (known !== undefined) return parse(known, path)

  // Linked into place whole: of two processes that start at once, one makes the key and both read the same.
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { mode: 0o600, flush: true })
  await link(draft, path).catch(() => undefined)
  await rm(draft)
  return parse((await read()) ?? "", path)
}
