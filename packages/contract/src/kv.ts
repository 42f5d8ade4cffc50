import { area, MIB, T } from "./dsl.ts"
import { atLeastOne, eitherOr, Nullable, Time } from "./types.ts"

/** Bytes of a key in UTF-8; the handler counts bytes, the schema bounds characters. */
export const KV_KEY_BYTES_MAX = 1024
/** Bytes of a value as JSON text. */
export const KV_VALUE_BYTES_MAX = MIB

const KEYS_MAX = 1000

const Key = T.String({
  minLength: 1,
  maxLength: KV_KEY_BYTES_MAX,
  description: "At most 1,024 bytes in UTF-8",
})
const Version = T.Integer({
  description: "Version of the entry: increases with every write of the key and is never reused",
})
const TtlSeconds = T.Integer({
  minimum: 1,
  maximum: 10 * 365 * 86_400,
  description: "Seconds until the entry expires; left out, it does not expire",
})

const setFields = {
  key: Key,
  value: T.Unknown({ description: "Any JSON of at most 1 MiB" }),
  ttl_seconds: T.Optional(TtlSeconds),
  keep_ttl: T.Optional(
    T.Boolean({ description: "Keep the present expiry of the entry; false when left out" }),
  ),
  nx: T.Optional(T.Boolean({ description: "Only if the key is absent" })),
  xx: T.Optional(T.Boolean({ description: "Only if the key is present" })),
  if_version: T.Optional(T.Integer({ minimum: 1, description: "Only if the entry still has this version" })),
}

const Written = T.Object({
  ok: T.Boolean({
    description: "False if a condition (nx, xx, if_version) did not hold and nothing was written",
  }),
  version: Nullable(Version, { description: "Version of the entry; null when nothing was written" }),
  expires_at: Nullable(Time, { description: "RFC 3339 time in UTC; null without expiry" }),
})

const Found = T.Object({
  value: T.Unknown({ description: "null when the key is absent" }),
  version: Nullable(Version, { description: "Version of the entry; null when the key is absent" }),
  ttl_seconds: Nullable(T.Integer({ description: "Seconds left, rounded up; null without expiry" })),
})

const BatchOp = T.Union([
  T.Object(
    {
      op: T.Literal("set", { description: "Write a value; takes the fields of `/v1/kv/set`" }),
      ...setFields,
    },
    { additionalProperties: false },
  ),
  T.Object(
    { op: T.Literal("get", { description: "Read a value" }), key: Key },
    { additionalProperties: false },
  ),
  T.Object(
    { op: T.Literal("del", { description: "Delete an entry" }), key: Key },
    { additionalProperties: false },
  ),
])

export const kv = area(
  "kv",
  {
    title: "Key-value",
    summary: "JSON values under keys, with expiry, conditions and atomic batches",
    project: "optional",
    belongs: "project",
    envelope: "bare",
    audit: "rollup",
  },
  {
    set: {
      id: "kvSet",
      nulFields: ["key", "value"],
      http: "POST /v1/kv/set",
      summary: "Store a value under a key",
      scope: "kv:write",
      effect: "write",
      idempotency: "natural",
      body: T.Object(setFields),
      aliases: { ttl: "ttl_seconds" },
      // A value of 1 MiB may come with every character escaped.
      bodyBytesMax: 7 * MIB,
      replies: { 200: Written },
      faults: ["invalid_parameter", "kv_key_too_large", "kv_value_too_large", "service_unavailable"],
      meters: ["kv_writes"],
      example: { key: "greeting", value: { text: "hello" }, ttl_seconds: 3600 },
    },
    get: {
      id: "kvGet",
      nulFields: ["key"],
      http: "POST /v1/kv/get",
      summary: "Read the value under a key",
      scope: "kv:read",
      effect: "read",
      body: T.Object({ key: Key }),
      replies: { 200: Found },
      faults: ["invalid_parameter", "kv_key_too_large", "service_unavailable"],
      meters: ["kv_reads"],
      example: { key: "greeting" },
    },
    exists: {
      id: "kvExists",
      nulFields: ["key"],
      http: "POST /v1/kv/exists",
      summary: "Check whether a key has a value",
      scope: "kv:read",
      effect: "read",
      body: T.Object({ key: Key }),
      replies: { 200: T.Object({ exists: T.Boolean({ description: "True if the key has a value" }) }) },
      faults: ["invalid_parameter", "kv_key_too_large", "service_unavailable"],
      meters: ["kv_reads"],
      example: { key: "greeting" },
    },
    del: {
      id: "kvDel",
      nulFields: ["key", "keys"],
      http: "POST /v1/kv/del",
      summary: "Delete one key or several",
      scope: "kv:write",
      effect: "destroy",
      idempotency: "natural",
      body: T.Object(
        {
          key: T.Optional(Key),
          keys: T.Optional(
            T.Array(Key, {
              minItems: 1,
              maxItems: KEYS_MAX,
              description: "Several keys, in place of `key` or beside it",
            }),
          ),
        },
        eitherOr(atLeastOne("key", "keys")),
      ),
      bodyBytesMax: 2 * MIB,
      replies: {
        200: T.Object({ deleted: T.Integer({ description: "Number of keys that had a value" }) }),
      },
      faults: [
        "invalid_parameter",
        "missing_parameter",
        "kv_key_too_large",
        "too_many_keys",
        "service_unavailable",
      ],
      meters: ["kv_writes"],
      example: { keys: ["greeting", "farewell"] },
    },
    keys: {
      id: "kvKeys",
      nulFields: ["pattern"],
      http: "POST /v1/kv/keys",
      summary: "List keys by glob pattern",
      description:
        "Keys in byte order. The pattern has Redis's grammar: `*`, `?`, `[abc]`, `[^a]`, `[a-z]`, `\\` to escape. " +
        "A page may hold fewer keys than `limit`; the list ends when `cursor` is null.",
      scope: "kv:read",
      effect: "read",
      body: T.Object({
        pattern: T.Optional(
          T.String({
            minLength: 1,
            maxLength: KV_KEY_BYTES_MAX,
            description: "Glob; all keys when left out",
          }),
        ),
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: KEYS_MAX,
            default: KEYS_MAX,
            description: "Largest number of keys on a page",
          }),
        ),
        cursor: T.Optional(
          Nullable(T.String({ maxLength: 4096 }), {
            description: "`cursor` of the page before; null or left out for the first page",
          }),
        ),
      }),
      replies: {
        200: T.Object({
          keys: T.Array(T.String(), { description: "Matching keys in byte order" }),
          cursor: Nullable(T.String(), { description: "Asks for the next page; null at the end" }),
        }),
      },
      faults: ["invalid_parameter", "service_unavailable"],
      meters: ["kv_reads"],
      example: { pattern: "user:*", limit: 100 },
    },
    batch: {
      id: "kvBatch",
      nulFields: ["ops"],
      http: "POST /v1/kv/batch",
      summary: "Run several operations atomically",
      description:
        "All or nothing: when the condition of one set does not hold, nothing is written, `committed` is false and " +
        "`failed_index` names the operation. Reads see earlier writes of the same batch, and need `kv:read` as well.",
      scope: "kv:write",
      effect: "write",
      extension: true,
      body: T.Object({
        ops: T.Array(BatchOp, {
          minItems: 1,
          maxItems: 100,
          description: "Operations, in the order in which they run",
        }),
      }),
      bodyBytesMax: 8 * MIB,
      replies: {
        200: T.Object({
          committed: T.Boolean({
            description: "False when a condition did not hold and nothing was written",
          }),
          failed_index: Nullable(T.Integer(), {
            description:
              "Position in `ops`, from 0, of the operation whose condition did not hold; null when committed",
          }),
          results: T.Array(
            T.Union([
              Written,
              Found,
              T.Object({ deleted: T.Integer({ description: "1 if the key had a value, else 0" }) }),
            ]),
            { description: "One result for each operation, in order" },
          ),
        }),
      },
      faults: [
        "missing_scope",
        "invalid_parameter",
        "kv_key_too_large",
        "kv_value_too_large",
        "service_unavailable",
      ],
      meters: ["kv_writes"],
      example: {
        ops: [
          { op: "set", key: "a", value: 1 },
          { op: "get", key: "a" },
        ],
      },
    },
  },
)
