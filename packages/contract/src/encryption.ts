import { area, MIB, T, type TSchema } from "./dsl.ts"
import {
  Dictionary,
  described,
  eitherOr,
  exactlyOne,
  Nullable,
  OneOf,
  Page,
  PageQuery,
  Time,
} from "./types.ts"

/** Bytes of one plaintext. */
export const ENCRYPTION_PLAINTEXT_BYTES_MAX = MIB
/** Characters of all plaintexts, or of all ciphertexts, of one request. */
export const ENCRYPTION_BATCH_MAX = 4 * MIB

const ITEMS_MAX = 500
const CONTEXT_FIELDS_MAX = 32
/** In base64: its nonce, its tag and a byte for the encoding beside the plaintext; and `svc:v999999999:`. */
const CIPHERTEXT_LENGTH_MAX = Math.ceil((ENCRYPTION_PLAINTEXT_BYTES_MAX + 29) / 3) * 4 + 15
const BASE64_LENGTH_MAX = Math.ceil(ENCRYPTION_PLAINTEXT_BYTES_MAX / 3) * 4
/** A plaintext of 1 MiB may come with every character escaped, and a batch is larger than its plaintexts. */
const BODY_BYTES_MAX = 8 * MIB

const Context = Dictionary(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 1024 }), {
  maxProperties: CONTEXT_FIELDS_MAX,
  description:
    'What the text belongs to, as `{ "invoice": "42" }`. It is authenticated, not stored and not secret; ' +
    "decrypting needs the same fields and values in any order. Left out, it is `{}`",
})
const Encoding = OneOf(["utf8", "base64"], { description: "Encoding of the plaintext; `utf8` when left out" })
const KeyVersion = T.Integer({
  minimum: 1,
  maximum: 999_999_999,
  description: "Version of the tenant's key, counted from 1",
})
const Reference = T.String({ maxLength: 256, description: "Returned with the result of the item" })
const Ciphertext = T.String({ maxLength: CIPHERTEXT_LENGTH_MAX, description: "Ciphertext, as `svc:v3:…`" })

const toEncrypt = {
  plaintext: T.String({
    maxLength: BASE64_LENGTH_MAX,
    description: "Text, or bytes in base64 if `encoding` says so; at most 1 MiB as bytes",
  }),
  encoding: T.Optional(Encoding),
  context: T.Optional(Context),
  key_version: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 999_999_999,
      description: "Key version to encrypt with; the newest when left out",
    }),
  ),
}
const toDecrypt = { ciphertext: Ciphertext, context: T.Optional(Context) }

const Encrypted = {
  ciphertext: T.String({ description: "Ciphertext, as `svc:v3:…`" }),
  key_version: KeyVersion,
}
const Decrypted = {
  plaintext: T.String({ description: "Text, or bytes in base64 if `encoding` says so" }),
  encoding: Encoding,
  key_version: KeyVersion,
}

/** The fields of one item, or `items` with those fields: a request has one or the other. */
const oneOrMany = <const Fields extends Record<string, TSchema>>(first: string, fields: Fields) =>
  T.Object(
    {
      ...T.Partial(T.Object(fields)).properties,
      items: T.Optional(
        T.Array(T.Object({ ...fields, reference: T.Optional(Reference) }, { additionalProperties: false }), {
          minItems: 1,
          maxItems: ITEMS_MAX,
          description: "Several items, in place of the fields above",
        }),
      ),
    },
    eitherOr(exactlyOne(first, "items")),
  )

const ItemResult = { reference: T.Optional(T.String({ description: "The item's own `reference`" })) }
const Failure = T.Object({
  ...ItemResult,
  error: T.Object(
    {
      code: T.String({ description: "Error code, as in the documentation" }),
      message: T.String({ description: "What went wrong, for people" }),
    },
    { description: "Why this item failed" },
  ),
})

const oneOrManyOf = <const Fields extends Record<string, TSchema>>(fields: Fields) =>
  T.Union([
    T.Object(fields),
    T.Object({
      items: T.Array(T.Union([T.Object({ ...fields, ...ItemResult }), Failure]), {
        description: "One result for each item, in order",
      }),
    }),
  ])

const MANY =
  "With `items`, up to 500 in one request and 4 MiB in all, the reply has one entry for each, in order, with its " +
  "`reference`: a result, or an `error` that does not affect the others."

const READS = "It changes nothing, so a read-only key may call it, and the text is not stored."
const WRITES =
  "The first use creates the key and every use is counted, so a read-only key may not call it. The text is not stored."

export const encryption = area(
  "encryption",
  {
    title: "Encryption",
    summary:
      "Encrypt and decrypt with a key of the tenant; a ciphertext belongs to the project that encrypted it, or to the organization if no project was named",
    project: "optional",
    belongs: "project",
  },
  {
    encrypt: {
      id: "encryptData",
      nulFields: ["plaintext", "context", "items"],
      http: "POST /api/v1/encryption/encrypt",
      summary: "Encrypt a text with the tenant's key",
      description:
        "AES-256-GCM under the newest version of the organization's key, bound to the organization, the version and " +
        `the context. ${MANY} ${WRITES}`,
      scope: "encryption:use",
      effect: "write",
      audit: "rollup",
      idempotency: "natural",
      body: oneOrMany("plaintext", toEncrypt),
      bodyBytesMax: BODY_BYTES_MAX,
      replies: { 200: oneOrManyOf(Encrypted) },
      faults: ["invalid_parameter", "missing_parameter"],
      meters: ["encryption_ops"],
      example: { plaintext: "hello", context: { invoice: "42" } },
    },
    decrypt: {
      id: "decryptData",
      nulFields: ["context", "items"],
      http: "POST /api/v1/encryption/decrypt",
      summary: "Decrypt a text with the tenant's key",
      description:
        "Every failure has the same error `decryption_failed`: a text of another tenant or project, another context, a " +
        `version that is no longer accepted, a modified text. ${MANY} ${READS}`,
      scope: "encryption:use",
      effect: "read",
      body: oneOrMany("ciphertext", toDecrypt),
      bodyBytesMax: BODY_BYTES_MAX,
      replies: { 200: oneOrManyOf(Decrypted) },
      faults: ["decryption_failed", "invalid_parameter", "missing_parameter"],
      meters: ["encryption_ops"],
      example: { ciphertext: "svc:v1:…", context: { invoice: "42" } },
    },
    rewrap: {
      extension: true,
      id: "rewrapData",
      nulFields: ["context", "items"],
      http: "POST /api/v1/encryption/rewrap",
      summary: "Re-encrypt a ciphertext with the newest version of the key",
      description: `The plaintext is not returned, and the context does not change. ${MANY} ${WRITES}`,
      scope: "encryption:use",
      effect: "write",
      audit: "rollup",
      idempotency: "natural",
      body: oneOrMany("ciphertext", toDecrypt),
      bodyBytesMax: BODY_BYTES_MAX,
      replies: { 200: oneOrManyOf(Encrypted) },
      faults: ["decryption_failed", "invalid_parameter", "missing_parameter"],
      meters: ["encryption_ops"],
      example: { ciphertext: "svc:v1:…", context: { invoice: "42" } },
    },
    rotateKey: {
      id: "rotateEncryptionKey",
      http: "POST /api/v1/encryption/rotate-key",
      summary: "Rotate the tenant's key: create a new version",
      description:
        "New texts are encrypted with the new version; earlier texts still decrypt. A key also " +
        "rotates automatically after 2^30 encryptions.",
      scope: "encryption:rotate",
      effect: "write",
      belongs: "organization",
      risk: "high",
      replies: {
        200: T.Object({
          key_version: KeyVersion,
          previous_version: described(KeyVersion, "Version that was the newest before"),
          min_decryption_version: described(KeyVersion, "Oldest version that still decrypts"),
          rotated_at: described(Time, "RFC 3339 time in UTC of the rotation"),
        }),
      },
    },
    key: {
      extension: true,
      id: "getEncryptionKey",
      http: "GET /api/v1/encryption/key",
      summary: "Show the versions of the tenant's key in use",
      scope: ["encryption:use", "encryption:rotate"],
      effect: "read",
      belongs: "organization",
      replies: {
        200: T.Object({
          key_version: Nullable(KeyVersion, { description: "Newest version; null before the first use" }),
          min_decryption_version: described(KeyVersion, "Oldest version that still decrypts"),
          rotated_at: Nullable(Time, {
            description:
              "RFC 3339 time in UTC when the newest version was created; null before the first use",
          }),
        }),
      },
    },
    updateKey: {
      extension: true,
      id: "updateEncryptionKey",
      http: "PATCH /api/v1/encryption/key",
      summary: "Set the oldest version of the tenant's key that still decrypts",
      description:
        "Rewrap older texts first: versions below `min_decryption_version` do not decrypt until it is lowered again.",
      scope: "encryption:rotate",
      effect: "write",
      belongs: "organization",
      idempotency: "natural",
      body: T.Object({ min_decryption_version: described(KeyVersion, "Oldest version that still decrypts") }),
      replies: { 200: T.Object({ key_version: KeyVersion, min_decryption_version: KeyVersion }) },
      faults: ["invalid_parameter"],
      example: { min_decryption_version: 1 },
    },
    keyVersions: {
      extension: true,
      id: "listEncryptionKeyVersions",
      http: "GET /api/v1/encryption/key/versions",
      summary: "List the versions of the tenant's key",
      scope: ["encryption:use", "encryption:rotate"],
      effect: "read",
      belongs: "organization",
      query: PageQuery,
      replies: {
        200: Page(
          T.Object({
            version: KeyVersion,
            state: OneOf(["current", "active", "retired", "destroyed"], {
              description:
                "`current` encrypts and decrypts, `active` decrypts, `retired` is older than `min_decryption_version`, `destroyed` is gone for good",
            }),
            created_at: Time,
          }),
        ),
      },
    },
  },
)
