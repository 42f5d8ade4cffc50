/** How users of another system come along, with their passwords. */
import { AppMetadata, UserMetadata } from "./auth-fields.ts"
import { type OperationSpec, T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

const IMPORTED_USERS_MAX = 1_000
const BODY_BYTES_MAX = 8 * 1024 * 1024

// What people typed is loose here: one bad address must not refuse the others.
const ImportedUser = T.Object({
  id: T.Optional(described(Id, "Id that the user keeps; left out, the user gets a new one")),
  email: T.String({ maxLength: 1024, description: "E-mail address of the user" }),
  email_confirmed: T.Optional(
    T.Boolean({ default: false, description: "Whether the address is known to be the user's" }),
  ),
  password_hash: T.Optional(
    T.String({
      maxLength: 2048,
      description:
        "bcrypt (`$2a$`, `$2b$`, `$2y$`), Argon2 (`$argon2id$`, `$argon2i$`), scrypt (`$scrypt$ln=…`) or Firebase's scrypt, as GoTrue writes it (`$fbscrypt$…`) or as Firebase exports it, with `password_salt`. Left out, the user signs in by mail",
    }),
  ),
  password_salt: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 256,
      description: "Salt of the user as Firebase exports it, base64. Takes `firebase_scrypt`",
    }),
  ),
  user_metadata: T.Optional(UserMetadata),
  app_metadata: T.Optional(AppMetadata),
  created_at: T.Optional(described(Time, "RFC 3339 time in UTC of the sign-up; left out: now")),
  banned_until: T.Optional(
    described(Time, "RFC 3339 time in UTC until which the user cannot sign in; one of the past is no ban"),
  ),
})

const FirebaseScrypt = T.Object(
  {
    signer_key: T.String({ minLength: 1, maxLength: 400, description: "`base64_signer_key`" }),
    salt_separator: T.Optional(
      T.String({ maxLength: 100, default: "", description: "`base64_salt_separator`" }),
    ),
    rounds: T.Integer({ minimum: 1, maximum: 8, description: "`rounds`" }),
    memory_cost: T.Integer({ minimum: 1, maximum: 16, description: "`mem_cost`" }),
  },
  { description: "Hash parameters of the Firebase project that rows with `password_salt` come from" },
)

export const importOperations = {
  importUsers: {
    id: "authImportUsers",
    http: "POST /v1/auth/users/import",
    scope: "admin:full",
    audit: "each",
    extension: true,
    summary: "Import users of another system with the hashes of their passwords",
    description:
      "Each row is reported on its own. A user who is there already, by id or by address, stays as they are, so a call can be repeated. A hash is replaced by ours when its user first signs in. Refused are hashes that cost too much at each sign-in: bcrypt above 12, Argon2 above 64 MiB or four passes of it, scrypt above 64 MiB.",
    effect: "write",
    idempotency: "natural",
    transaction: "none",
    bodyBytesMax: BODY_BYTES_MAX,
    body: T.Object({
      users: T.Array(ImportedUser, {
        minItems: 1,
        maxItems: IMPORTED_USERS_MAX,
        description: "Users to import",
      }),
      firebase_scrypt: T.Optional(FirebaseScrypt),
    }),
    replies: {
      200: T.Object({
        created: T.Integer({ description: "Users who are new" }),
        existing: T.Integer({ description: "Users who were there already and stayed as they are" }),
        failed: T.Integer({ description: "Rows that were not taken" }),
        users: T.Array(
          T.Object({
            index: T.Integer({ description: "Place of the row in the request, from 0" }),
            status: OneOf(["created", "existing", "failed"], { description: "What became of the row" }),
            id: Nullable(Id, { description: "Id of the user; null for a row that failed" }),
            error: Nullable(T.String(), { description: "Why the row failed; null if it did not" }),
          }),
          { description: "One entry for each row, in order" },
        ),
      }),
    },
    example: {
      users: [
        {
          email: "ada@example.com",
          email_confirmed: true,
          password_hash: "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
        },
      ],
    },
  },
} as const satisfies Record<string, OperationSpec>
