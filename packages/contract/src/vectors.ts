import { area, MIB, T } from "./dsl.ts"
import { ExactInteger, eitherOr, exactlyOne, Id, Nullable, OneOf, Page, PageQuery, Time } from "./types.ts"

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
/** Largest amount of one value: sums of products of two such values still fit the 32-bit floats of the index. */
export const VECTOR_VALUE_MAX = 1e15

const LIST_LIMIT_DEFAULT = 100
const BODY_BYTES_MAX = 10 * MIB

const Tenant = { tenant_id: Id }

export const VectorCollectionName = T.String({
  minLength: 1,
  maxLength: 64,
  pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
})

const Collection = { ...Tenant, name: VectorCollectionName }

const VectorId = T.Union([T.String({ minLength: 1, maxLength: VECTOR_ID_BYTES_MAX }), ExactInteger], {
  description: "A text of at most 128 bytes; a whole number stands for its decimal text",
})

const Ids = T.Array(VectorId, { minItems: 1, maxItems: VECTORS_MAX })

const Values = T.Array(T.Number({ minimum: -VECTOR_VALUE_MAX, maximum: VECTOR_VALUE_MAX }), {
  minItems: 1,
  // More than the longest collection takes, so that a vector too long is told both dimensions.
  maxItems: 4 * VECTOR_DIMENSION_MAX,
  description: "As many numbers as the collection has dimensions, kept as 32-bit floats",
})

const Metadata = T.Record(T.String(), T.Unknown(), {
  description: "A JSON object of at most 40 KiB, which filters look into",
})

/** Its grammar is checked by the area, which can name the clause that is wrong. */
const Filter = T.Record(T.String(), T.Unknown(), {
  description:
    "Qdrant's grammar: `must`, `should`, `must_not` (lists of conditions or of further filters) and `min_should`. " +
    "Conditions: `{key, match: {value | any | except}}`, `{key, range: {gt, gte, lt, lte}}` with numbers or " +
    "RFC 3339 times, `{key, values_count: {…}}`, `{is_empty: {key}}`, `{is_null: {key}}`, `{has_id: […]}`. " +
    'Dots lead into objects, and of an array any element may match. Shorter: `{"color": "red", "size": [1, 2]}`.',
})

const index = T.Object({
  type: OneOf(VECTOR_INDEX_TYPES),
  m: T.Integer({ description: "Links of a vector in the graph" }),
  ef_construction: T.Integer({ description: "Candidates looked at to place a vector in the graph" }),
})

const VectorCollection = T.Object({
  id: Id,
  name: VectorCollectionName,
  dimension: T.Integer(),
  metric: OneOf(VECTOR_METRICS),
  index,
  count: T.Integer({ description: "Vectors in it" }),
  index_state: OneOf(["cold", "building", "ready"]),
  created_at: Time,
  updated_at: Time,
})

const upsertBody = T.Object({
  collection: VectorCollectionName,
  vectors: T.Array(
    T.Object(
      { id: VectorId, values: Values, metadata: T.Optional(Metadata) },
      { additionalProperties: false },
    ),
    { minItems: 1, description: "At most 1,000. Of two with the same id the later one stays." },
  ),
})

const Stored = T.Object({
  id: T.String(),
  metadata: T.Optional(T.Record(T.String(), T.Unknown())),
  values: T.Optional(T.Array(T.Number())),
})

const exampleVectors = [
  { id: "a", values: [0.1, 0.9, 0.2], metadata: { color: "red", year: 2024 } },
  { id: "b", values: [0.7, 0.1, 0.4], metadata: { color: "blue", year: 2021 } },
]

const UPSERT_FAULTS = [
  "plan_limit_reached",
  "collection_not_found",
  "dimension_mismatch",
  "batch_too_large",
  "invalid_parameter",
  "vector_store_unavailable",
] as const

export const vectors = area(
  "vectors",
  {
    title: "Vectors",
    summary: "Collections of vectors and similarity search",
    project: "optional",
    belongs: "project",
  },
  {
    createCollection: {
      id: "createVectorCollection",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/collections",
      summary: "Create a collection of vectors",
      description:
        "`auto` searches exactly while the collection is small, and by a graph (HNSW) from 20,000 vectors on; `flat` " +
        "always exactly. Dimension, metric and index stay as they are made.",
      scope: "vectors:write",
      effect: "write",
      params: T.Object(Tenant),
      body: T.Object({
        name: VectorCollectionName,
        dimension: T.Integer({ minimum: 1, maximum: VECTOR_DIMENSION_MAX }),
        metric: T.Optional(OneOf(VECTOR_METRICS)),
        index: T.Optional(
          T.Object(
            {
              type: T.Optional(OneOf(VECTOR_INDEX_TYPES)),
              m: T.Optional(T.Integer({ minimum: 4, maximum: 64 })),
              ef_construction: T.Optional(T.Integer({ minimum: 16, maximum: 512 })),
            },
            { additionalProperties: false },
          ),
        ),
      }),
      replies: { 201: VectorCollection },
      faults: ["name_taken", "invalid_parameter"],
      example: { name: "articles", dimension: 3, metric: "cosine" },
    },
    listCollections: {
      id: "listVectorCollections",
      http: "GET /api/v1/tenants/{tenant_id}/vectors/collections",
      summary: "List the collections of vectors",
      scope: "vectors:read",
      effect: "read",
      params: T.Object(Tenant),
      query: PageQuery,
      replies: { 200: Page(VectorCollection) },
    },
    getCollection: {
      id: "getVectorCollection",
      http: "GET /api/v1/tenants/{tenant_id}/vectors/collections/{name}",
      summary: "Read one collection of vectors",
      scope: "vectors:read",
      effect: "read",
      beyond: true,
      params: T.Object(Collection),
      replies: { 200: VectorCollection },
      faults: ["collection_not_found"],
    },
    deleteCollection: {
      id: "deleteVectorCollection",
      http: "DELETE /api/v1/tenants/{tenant_id}/vectors/collections/{name}",
      summary: "Delete a collection with all its vectors",
      scope: "vectors:write",
      effect: "destroy",
      risk: "high",
      beyond: true,
      params: T.Object(Collection),
      replies: { 204: null },
      faults: ["collection_not_found"],
    },
    list: {
      id: "listVectors",
      http: "GET /api/v1/tenants/{tenant_id}/vectors/collections/{name}/vectors",
      summary: "List the vectors of a collection by id",
      description: "In the byte order of ids. The list ends when `cursor` is null.",
      scope: "vectors:read",
      effect: "read",
      beyond: true,
      params: T.Object(Collection),
      query: T.Object({
        limit: T.Optional(T.Integer({ minimum: 1, maximum: VECTORS_MAX, default: LIST_LIMIT_DEFAULT })),
        cursor: T.Optional(T.String({ maxLength: 512 })),
        include_metadata: T.Optional(T.Boolean({ default: false })),
      }),
      replies: {
        200: T.Object({ data: T.Array(Stored), cursor: Nullable(T.String()) }, { "x-svc-list": true }),
      },
      faults: ["collection_not_found", "invalid_parameter"],
    },
    upsert: {
      id: "upsertVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/upsert",
      summary: "Write vectors, new ones and others in place of old ones",
      scope: "vectors:write",
      effect: "write",
      audit: "rollup",
      idempotent: "naturally",
      params: T.Object(Tenant),
      body: upsertBody,
      bodyBytesMax: BODY_BYTES_MAX,
      replies: { 200: T.Object({ upserted_count: T.Integer() }) },
      faults: UPSERT_FAULTS,
      meters: ["vector_ops"],
      example: { collection: "articles", vectors: exampleVectors },
    },
    batchUpsert: {
      id: "batchUpsertVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/batch/upsert",
      summary: "Write a batch of vectors in one write",
      description: "All or nothing: at most 1,000 vectors and 10 MiB.",
      scope: "vectors:write",
      effect: "write",
      audit: "rollup",
      idempotent: "naturally",
      params: T.Object(Tenant),
      body: upsertBody,
      bodyBytesMax: BODY_BYTES_MAX,
      replies: { 201: T.Object({ count: T.Integer() }) },
      faults: UPSERT_FAULTS,
      meters: ["vector_ops"],
      example: { collection: "articles", vectors: exampleVectors },
    },
    search: {
      id: "searchVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/search",
      summary: "Find the nearest vectors",
      description:
        "A higher score is nearer for every metric: the cosine, the dot product, or 1 / (1 + distance). A search sees " +
        "every write that was answered before it. There are always `top_k` matches if so many vectors fit the filter " +
        "and the threshold.",
      scope: "vectors:read",
      effect: "read",
      params: T.Object(Tenant),
      body: T.Object({
        collection: VectorCollectionName,
        vector: Values,
        top_k: T.Optional(T.Integer({ minimum: 1, maximum: VECTOR_TOP_K_MAX, default: 10 })),
        filter: T.Optional(Filter),
        score_threshold: T.Optional(T.Number({ description: "Only matches with at least this score" })),
        include_metadata: T.Optional(T.Boolean({ default: true })),
        include_values: T.Optional(T.Boolean({ default: false })),
        params: T.Optional(
          T.Object(
            {
              ef: T.Optional(
                T.Integer({
                  minimum: 1,
                  maximum: VECTOR_EF_MAX,
                  description: "Candidates to look at: more find more and take longer",
                }),
              ),
              exact: T.Optional(T.Boolean({ description: "Compare with every vector" })),
            },
            { additionalProperties: false },
          ),
        ),
      }),
      aliases: { limit: "top_k", values: "vector" },
      replies: {
        200: T.Object({
          matches: T.Array(
            T.Object({
              id: T.String(),
              score: T.Number(),
              metadata: T.Optional(T.Record(T.String(), T.Unknown())),
              values: T.Optional(T.Array(T.Number())),
            }),
          ),
          took_ms: T.Number(),
          exact: T.Boolean({ description: "Whether every vector that fits the filter was compared" }),
        }),
      },
      faults: [
        "plan_limit_reached",
        "collection_not_found",
        "dimension_mismatch",
        "invalid_parameter",
        "vector_store_unavailable",
      ],
      meters: ["vector_ops"],
      example: {
        collection: "articles",
        vector: [0.1, 0.8, 0.3],
        top_k: 5,
        filter: { must: [{ key: "year", range: { gte: 2022 } }] },
      },
    },
    get: {
      id: "getVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/get",
      summary: "Read vectors by their ids",
      description: "In the order of the ids; those that do not exist are left out.",
      scope: "vectors:read",
      effect: "read",
      beyond: true,
      params: T.Object(Tenant),
      body: T.Object({
        collection: VectorCollectionName,
        ids: Ids,
        include_metadata: T.Optional(T.Boolean({ default: true })),
        include_values: T.Optional(T.Boolean({ default: true })),
      }),
      replies: { 200: T.Object({ vectors: T.Array(Stored) }) },
      faults: ["collection_not_found", "invalid_parameter"],
      example: { collection: "articles", ids: ["a"] },
    },
    delete: {
      id: "deleteVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/delete",
      summary: "Delete vectors by their ids, or those that a filter names",
      scope: "vectors:write",
      effect: "destroy",
      audit: "rollup",
      idempotent: "naturally",
      beyond: true,
      params: T.Object(Tenant),
      body: T.Object(
        { collection: VectorCollectionName, ids: T.Optional(Ids), filter: T.Optional(Filter) },
        eitherOr(exactlyOne("ids", "filter")),
      ),
      replies: { 200: T.Object({ deleted_count: T.Integer() }) },
      faults: ["collection_not_found", "missing_parameter", "invalid_parameter", "vector_store_unavailable"],
      example: { collection: "articles", ids: ["a"] },
    },
    count: {
      id: "countVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/count",
      summary: "Count vectors, all or those that a filter names",
      scope: "vectors:read",
      effect: "read",
      beyond: true,
      params: T.Object(Tenant),
      body: T.Object({ collection: VectorCollectionName, filter: T.Optional(Filter) }),
      replies: { 200: T.Object({ count: T.Integer() }) },
      faults: ["collection_not_found", "vector_store_unavailable"],
      example: { collection: "articles", filter: { must: [{ key: "color", match: { value: "red" } }] } },
    },
  },
)
