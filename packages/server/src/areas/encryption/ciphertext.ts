/**
 * Texts that tenants encrypt: `svc:v3:` and base64 of `nonce | ciphertext | tag`, under version 3 of the tenant's key.
 * What is encrypted begins with a byte for the encoding (0 utf8, 1 base64), so that a text comes back the way it came.
 */
import type { KeyObject } from "node:crypto"
import { open, seal } from "../../kernel/aead.ts"
import { canonicalJson } from "../../kernel/canonical-json.ts"

const ENCODINGS = ["utf8", "base64"] as const
export type Encoding = (typeof ENCODINGS)[number]

export type Context = Readonly<Record<string, string>>

export interface Plaintext {
  readonly encoding: Encoding
  readonly bytes: Uint8Array
}

/** What a ciphertext is bound to, beside its key. */
export interface Binding {
  readonly tenantId: string
  /** Null where the call is in no project. */
  readonly projectId: string | null
  readonly version: number
  readonly context: Context | undefined
}

export interface Ciphertext {
  readonly version: number
  readonly bytes: Buffer
}

const FORM = /^svc:v([1-9]\d{0,8}):([A-Za-z0-9+/]+={0,2})$/

const associated = ({ tenantId, projectId, version, context = {} }: Binding): string =>
  `${tenantId}${projectId === null ? "" : `/${projectId}`}|${version}|${canonicalJson(context)}`

export const encrypt = (key: KeyObject, binding: Binding, { encoding, bytes }: Plaintext): string => {
  const plaintext = Buffer.concat([Buffer.of(ENCODINGS.indexOf(encoding)), bytes])
  const sealed = seal(key, associated(binding), plaintext)
  return `svc:v${binding.version}:${sealed.toString("base64")}`
}

/** Undefined for what `encrypt` never wrote, other spellings of the same bytes included. */
export const parseCiphertext = (text: string): Ciphertext | undefined => {
  const [, version, base64 = ""] = FORM.exec(text) ?? []
  const bytes = Buffer.from(base64, "base64")
  if (version === undefined || bytes.toString("base64") !== base64) return undefined
  return { version: Number(version), bytes }
}

/** Undefined when the key, the binding or a single bit differ. */
export const decrypt = (key: KeyObject, binding: Binding, bytes: Uint8Array): Plaintext | undefined => {
  const plaintext = open(key, associated(binding), bytes)
  const encoding = ENCODINGS[plaintext?.[0] ?? ENCODINGS.length]
  return plaintext && encoding && { encoding, bytes: plaintext.subarray(1) }
}
