/** Who may do what in a bucket, and pages of which origins may call it. */
import { T } from "./dsl.ts"
import { Nullable, OneOf } from "./types.ts"

const CORS_TEXTS_MAX = 100
const CORS_RULES_MAX = 100

const texts = (description: string, minItems = 1) =>
  T.Array(T.String({ minLength: 1, maxLength: 255 }), { minItems, maxItems: CORS_TEXTS_MAX, description })

export const CorsRules = T.Array(
  T.Object({
    id: T.Optional(T.String({ maxLength: 255, description: "Name of the rule" })),
    allowed_origins: texts("Origins of pages, with one `*` at most; `*` alone is any"),
    allowed_methods: T.Array(
      OneOf(["GET", "PUT", "POST", "DELETE", "HEAD"], { description: "Method of the request" }),
      { minItems: 1, maxItems: 5, description: "Methods that such pages may use" },
    ),
    allowed_headers: T.Optional(texts("Headers that such pages may send, with one `*` at most", 0)),
    expose_headers: T.Optional(texts("Headers of the reply that such pages may read", 0)),
    max_age_seconds: T.Optional(
      T.Integer({ minimum: 0, maximum: 999_999_999, description: "How long browsers remember the answer" }),
    ),
  }),
  {
    minItems: 1,
    maxItems: CORS_RULES_MAX,
    description: "The first rule that fits a page is the one that holds",
  },
)

export const BucketPolicy = T.Object(
  {},
  {
    additionalProperties: true,
    description:
      "Policy in the language of S3, at most 20 KiB; `Principal` names projects and keys by their ids",
  },
)

export const CannedAcl = OneOf(
  [
    ...(["private", "public-read", "public-read-write", "authenticated-read"] as const),
    ...(["bucket-owner-read", "bucket-owner-full-control"] as const),
  ],
  {
    description:
      "`public-read`: anybody may list the objects; `public-read-write`: and put and delete them; " +
      "`authenticated-read`: keys of other projects may list them. An object has a list of its own for reading it",
  },
)

export const PublicAccessBlock = T.Object(
  {
    block_public_acls: T.Boolean({ description: "Lists that let others in are refused" }),
    ignore_public_acls: T.Boolean({ description: "Lists let nobody in" }),
    block_public_policy: T.Boolean({ description: "Policies that let everybody in are refused" }),
    restrict_public_buckets: T.Boolean({
      description: "Nobody comes in by a policy that lets everybody in, nor because the bucket is `public`",
    }),
  },
  { description: "What stays closed, whatever policy and list say" },
)

export const accessFields = {
  cors: Nullable(CorsRules, {
    description: "Rules for pages of other origins; null: any origin may use presigned URLs",
  }),
  policy: Nullable(BucketPolicy, { description: "Policy of the bucket; null: it has none" }),
  acl: CannedAcl,
  public_access_block: Nullable(PublicAccessBlock, { description: "What stays closed; null: nothing" }),
}
