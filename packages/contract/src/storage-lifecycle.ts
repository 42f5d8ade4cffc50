/** Rules by which objects of a bucket end by themselves. */
import { T } from "./dsl.ts"
import { Nullable } from "./types.ts"

/** S3's limits. */
const LIFECYCLE_RULES_MAX = 1000
const NONCURRENT_KEPT_MAX = 100
const DAYS_MAX = 36_500

const days = (description: string) => T.Optional(T.Integer({ minimum: 1, maximum: DAYS_MAX, description }))
const size = (description: string) => T.Optional(T.Integer({ minimum: 0, description }))

const LifecycleRule = T.Object({
  id: T.String({ minLength: 1, maxLength: 255, description: "Name of the rule, which no other one has" }),
  enabled: T.Boolean({ description: "False: the rule is kept and not carried out" }),
  prefix: T.Optional(T.String({ maxLength: 1024, description: "It is about keys that begin with this" })),
  tags: T.Optional(
    T.Record(T.String(), T.String(), { description: "It is about objects that have all of these tags" }),
  ),
  size_greater_than: size("It is about objects of more bytes than this"),
  size_less_than: size("It is about objects of fewer bytes than this"),
  expire_days: days(
    "Objects are deleted so many days after they were put, at midnight in UTC; with versions they get a delete marker",
  ),
  expire_at: T.Optional(
    T.String({ format: "date-time", description: "Objects are deleted from this midnight in UTC on" }),
  ),
  expire_delete_markers: T.Optional(
    T.Boolean({ description: "Delete markers are deleted once no version is behind them" }),
  ),
  noncurrent_days: days("Older versions are deleted so many days after they were replaced"),
  noncurrent_keep: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: NONCURRENT_KEPT_MAX,
      description: "So many of the newest older versions of a key stay, however old they are",
    }),
  ),
  abort_uploads_days: days("Uploads in parts are aborted so many days after they began"),
})

export const lifecycleField = Nullable(
  T.Array(LifecycleRule, {
    minItems: 1,
    maxItems: LIFECYCLE_RULES_MAX,
    description: "Rules that are carried out once a day, after midnight in UTC",
  }),
  { description: "Rules by which objects, older versions and uploads end; null: there are none" },
)
