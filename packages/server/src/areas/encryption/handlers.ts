import {
  areas,
  ENCRYPTION_BATCH_MAX,
  ENCRYPTION_PLAINTEXT_BYTES_MAX,
  type Input,
  type Output,
  page,
  pageOf,
} from "@svc/contract"
import type { KeyState } from "../../core/secrets/tenant-key-store.ts"
import type { TenantKeys } from "../../core/secrets/tenant-keys.ts"
import type { Call } from "../../kernel/call.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { toIso } from "../../kernel/to-iso.ts"
import {
  type Context,
  decrypt,
  type Encoding,
  encrypt,
  type Plaintext,
  parseCiphertext,
} from "./ciphertext.ts"

type Operations = typeof areas.encryption.specs
type EncryptItem = NonNullable<Input<Operations["encrypt"]>["items"]>[number]
type DecryptItem = NonNullable<Input<Operations["decrypt"]>["items"]>[number]

type Encrypted = Extract<Output<Operations["encrypt"]>, { ciphertext: string }>

const keyTarget = (organizationId: string) => ({ type: "encryption_key", id: organizationId })

const refused = (reason: string) => fault("invalid_parameter", { reason })

const toBytes = (text: string, encoding: Encoding): Buffer => {
  // Half of a surrogate pair has no form in UTF-8, and would come back as another character.
  if (!text.isWellFormed()) throw refused("plaintext is not well-formed Unicode")
  const bytes = Buffer.from(text, encoding)
  if (encoding === "base64" && bytes.toString("base64") !== text) throw refused("plaintext is not base64")
  if (bytes.length > ENCRYPTION_PLAINTEXT_BYTES_MAX)
    throw refused(`plaintext has more than ${ENCRYPTION_PLAINTEXT_BYTES_MAX} bytes`)
  return bytes
}

const createCipher = (tenantKeys: TenantKeys) => {
  const seal = async (
    { organization, project }: Call,
    plaintext: Plaintext,
    context: Context | undefined,
    asked?: number,
  ) => {
    const sealing = await tenantKeys.forSealing(organization.id, "data", asked)
    if (!sealing) throw refused("key_version is not one that encrypts")
    const { version, key } = sealing
    const binding = { tenantId: organization.id, projectId: project?.id ?? null, version, context }
    return { ciphertext: encrypt(key, binding, plaintext), key_version: version }
  }

  const open = async ({ organization, project }: Call, { ciphertext, context }: DecryptItem) => {
    const parsed = parseCiphertext(ciphertext)
    const key = parsed && (await tenantKeys.forOpening(organization.id, "data", parsed.version))
    if (!key) throw fault("decryption_failed")
    const place = { tenantId: organization.id, projectId: project?.id ?? null }
    const plaintext = decrypt(key, { ...place, version: parsed.version, context }, parsed.bytes)
    if (!plaintext) throw fault("decryption_failed")
    return { ...plaintext, version: parsed.version }
  }

  return {
    encrypt: (call: Call, item: EncryptItem) => {
      const { plaintext, encoding = "utf8" } = item
      return seal(call, { encoding, bytes: toBytes(plaintext, encoding) }, item.context, item.key_version)
    },
    decrypt: async (call: Call, item: DecryptItem) => {
      const { encoding, bytes, version } = await open(call, item)
      return { plaintext: Buffer.from(bytes).toString(encoding), encoding, key_version: version }
    },
    rewrap: async (call: Call, item: DecryptItem) => {
      const plaintext = await open(call, item)
      return seal(call, plaintext, item.context)
    },
  }
}

/** A refusal of one item is its result; what keeps any from being served is the call's. */
const settled = async <Result>(reference: string | undefined, work: () => Promise<Result>) => {
  const named = reference === undefined ? {} : { reference }
  try {
    return { ...named, ...(await work()) }
  } catch (error) {
    if (!isFault(error) || error.status !== 400) throw error
    return { ...named, error: { code: error.publicCode, message: error.message } }
  }
}

interface OneOrMany<Item> {
  readonly one: Item | undefined
  readonly items: readonly (Item & { reference?: string })[] | undefined
  /** The field that both have, and whose length counts. */
  readonly field: keyof Item & string
}

const answered = async <Item, Result>(
  call: Call,
  { one, items, field }: OneOrMany<Item>,
  work: (call: Call, item: Item) => Promise<Result>,
) => {
  if (one && items) throw refused(`${field} and items exclude each other`)
  if (one) return work(call, one)
  if (!items) throw fault("missing_parameter", { field: `${field} or items` })
  const length = items.reduce((sum, item) => sum + String(item[field]).length, 0)
  if (length > ENCRYPTION_BATCH_MAX) throw refused(`items hold more than ${ENCRYPTION_BATCH_MAX} characters`)
  // One is counted by the declaration.
  call.meter("encryption_ops", items.length - 1)
  const results = []
  for (const item of items) results.push(await settled(item.reference, () => work(call, item)))
  return { items: results }
}

const toDecrypt = ({ items, ciphertext, ...rest }: Input<Operations["decrypt"]>): OneOrMany<DecryptItem> => ({
  one: ciphertext === undefined ? undefined : { ...rest, ciphertext },
  items,
  field: "ciphertext",
})

export const encryptionHandlers = implement(
  areas.encryption,
  ({ tenantKeys }: { tenantKeys: TenantKeys }) => {
    const cipher = createCipher(tenantKeys)

    return {
      encrypt({ items, plaintext, ...rest }, call) {
        const one = plaintext === undefined ? undefined : { ...rest, plaintext }
        return answered<EncryptItem, Encrypted>(call, { one, items, field: "plaintext" }, cipher.encrypt)
      },

      decrypt: (input, call) => answered(call, toDecrypt(input), cipher.decrypt),

      rewrap: (input, call) => answered(call, toDecrypt(input), cipher.rewrap),

      async rotateKey(_input, call) {
        const { id } = call.organization
        const made = await tenantKeys.rotate(call.db, id)
        call.describe({ targets: [keyTarget(id)], metadata: { key_version: made.version } })
        return {
          key_version: made.version,
          previous_version: made.previous,
          min_decryption_version: made.minDecryption,
          rotated_at: made.rotatedAt.toISOString(),
        }
      },

      async key(_input, { db, organization }) {
        const ring = await tenantKeys.ring(organization.id)
        const { rows } = await tenantKeys.list(db, organization.id, { limit: 1, offset: 0 })
        return {
          key_version: ring.current || null,
          min_decryption_version: ring.minDecryption,
          rotated_at: toIso(rows[0]?.created_at),
        }
      },

      async updateKey({ min_decryption_version }, call) {
        const { id } = call.organization
        const ring = await tenantKeys.setMinDecryption(call.db, id, min_decryption_version)
        if (!ring) throw refused("min_decryption_version is newer than the key")
        call.describe({ targets: [keyTarget(id)], metadata: { min_decryption_version } })
        return { key_version: ring.current, min_decryption_version }
      },

      async keyVersions(input, { db, organization }) {
        const { current } = await tenantKeys.ring(organization.id)
        const { rows, total } = await tenantKeys.list(db, organization.id, pageOf(input))
        const shown = rows.map(({ version, state, created_at }) => ({
          version,
          state: version === current ? ("current" as const) : (state as KeyState),
          created_at: created_at.toISOString(),
        }))
        return page({ rows: shown, total }, input)
      },
    }
  },
)
