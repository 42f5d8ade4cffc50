/** What requests and replies about vectors are made of. */
import { MIB, T } from "./dsl.ts"
import { ExactInteger, Id, OneOf, Time } from "./types.ts"

export const VECTOR_METRICS = ["cosine", "dot", "euclidean"] as const
export const VECTOR_INDEX_TYPES = ["auto", "hnsw", "flat"] as const
export const VECTOR_DIMENSION_MAX = 4096
/** Vectors of one upsert; ids of one read or delete. */
export const VECTORS_MAX = 1000
/** Bytes of an id in UTF-8; the handler counts bytes, the schema bounds characters. */
export const VECTOR_ID_BYTES_MAX = 128
/** Bytes of one vector's metadata as JSON text. */
export const VECTOR_METADATA_BYTES_MAX = 40 * 1024
export const VECTOR_TOP_K_MAX = 1000
export const VECTOR_EF_MAX = 4096
/** Largest absolute value: sums of products of two such values still fit the 32-bit floats of the index. */
export const VECTOR_VALUE_MAX = 1e15

export const LIST_LIMIT_DEFAULT = 100
export const BODY_BYTES_MAX = 10 * MIB

export const Tenant = { tenant_id: Id }

export const VectorCollectionName = T.String({
  minLength: 1,
  maxLength: 64,
  pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
  description: "Name of the collection: letters, digits, `_`, `.` and `-`",
})

export const Collection = { ...Tenant, name: VectorCollectionName }

const VectorId = T.Union([T.String({ minLength: 1, maxLength: VECTOR_ID_BYTES_MAX }), ExactInteger], {
  description: "Text of at most 128 bytes; a whole number is the same as its decimal text",
})

export const Ids = T.Array(VectorId, { minItems: 1, maxItems: VECTORS_MAX, description: "Ids of vectors" })

export const Values = T.Array(T.Number({ minimum: -VECTOR_VALUE_MAX, maximum: VECTOR_VALUE_MAX }), {
  minItems: 1,
  // More than any collection accepts, so that the error of a longer vector has both dimensions.
  maxItems: 4 * VECTOR_DIMENSION_MAX,
  description: "As many numbers as the collection has dimensions; stored as 32-bit floats",
})

const Metadata = T.Record(T.String(), T.Unknown(), {
  description: "JSON object of at most 40 KiB, which filters can use",
})

/** The area checks its grammar, so that the error names the wrong clause. */
export const Filter = T.Record(T.String(), T.Unknown(), {
  description:
    "Filter on metadata in Qdrant's grammar: `must`, `should`, `must_not` (lists of conditions or of further filters) and `min_should`. " +
    "Conditions: `{key, match: {value | any | except}}`, `{key, range: {gt, gte, lt, lte}}` with numbers or " +
    "RFC 3339 times, `{key, values_count: {…}}`, `{is_empty: {key}}`, `{is_null: {key}}`, `{has_id: […]}`. " +
    'Dots lead into objects, and of an array any element may match. Shorter: `{"color": "red", "size": [1, 2]}`.',
})

const index = T.Object(
  {
    type: OneOf(VECTOR_INDEX_TYPES, {
      description:
        "`auto`: exact while the collection is small, then a graph; `flat`: always exact; `hnsw`: always a graph",
    }),
    m: T.Integer({ description: "Links of a vector in the graph" }),
    ef_construction: T.Integer({ description: "Candidates looked at to place a vector in the graph" }),
  },
  { description: "How it is searched" },
)

export const VectorCollection = T.Object({
  id: Id,
  name: VectorCollectionName,
  dimension: T.Integer({ description: "Numbers in each vector" }),
  metric: OneOf(VECTOR_METRICS, { description: "How similarity is measured" }),
  index,
  count: T.Integer({ description: "Number of vectors in the collection" }),
  index_state: OneOf(["cold", "building", "ready"], {
    description: "`cold`: not in memory; the first search loads it",
  }),
  created_at: Time,
  updated_at: Time,
})

export const upsertBody = T.Object({
  collection: VectorCollectionName,
  vectors: T.Array(
    T.Object(
      { id: VectorId, values: Values, metadata: T.Optional(Metadata) },
      { additionalProperties: false },
    ),
    { minItems: 1, description: "At most 1,000 vectors. Of two with the same id the later one is stored." },
  ),
})

export const Stored = T.Object({
  id: T.String({ description: "Id of the vector" }),
  metadata: T.Optional(T.Record(T.String(), T.Unknown(), { description: "Its metadata" })),
  values: T.Optional(T.Array(T.Number(), { description: "Its numbers" })),
})

export const exampleVectors = [
  { id: "a", values: [0.1, 0.9, 0.2], metadata: { color: "red", year: 2024 } },
  { id: "b", values: [0.7, 0.1, 0.4], metadata: { color: "blue", year: 2021 } },
]

export const UPSERT_FAULTS = [
  "plan_limit_reached",
  "collection_not_found",
  "dimension_mismatch",
  "batch_too_large",
  "invalid_parameter",
  "vector_store_unavailable",
] as const
