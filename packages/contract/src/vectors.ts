import { area, T } from "./dsl.ts"
import { eitherOr, exactlyOne, Nullable, OneOf, Page, PageQuery } from "./types.ts"
import {
  BODY_BYTES_MAX,
  Collection,
  exampleVectors,
  Filter,
  Ids,
  LIST_LIMIT_DEFAULT,
  Stored,
  Tenant,
  UPSERT_FAULTS,
  upsertBody,
  Values,
  VECTOR_DIMENSION_MAX,
  VECTOR_EF_MAX,
  VECTOR_INDEX_TYPES,
  VECTOR_METRICS,
  VECTOR_TOP_K_MAX,
  VECTORS_MAX,
  VectorCollection,
  VectorCollectionName,
} from "./vectors-fields.ts"

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
        "always exactly. Dimension, metric and index cannot be changed.",
      scope: "vectors:write",
      effect: "write",
      params: T.Object(Tenant),
      body: T.Object({
        name: VectorCollectionName,
        dimension: T.Integer({
          minimum: 1,
          maximum: VECTOR_DIMENSION_MAX,
          description: "Numbers in each vector",
        }),
        metric: T.Optional(
          OneOf(VECTOR_METRICS, { description: "How similarity is measured; `cosine` when left out" }),
        ),
        index: T.Optional(
          T.Object(
            {
              type: T.Optional(OneOf(VECTOR_INDEX_TYPES, { description: "`auto` when left out" })),
              m: T.Optional(
                T.Integer({
                  minimum: 4,
                  maximum: 64,
                  description: "Links of a vector in the graph; 16 when left out",
                }),
              ),
              ef_construction: T.Optional(
                T.Integer({
                  minimum: 16,
                  maximum: 512,
                  description:
                    "Candidates looked at to place a vector in the graph; more is slower and more exact",
                }),
              ),
            },
            { additionalProperties: false, description: "How it is searched" },
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
      extension: true,
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
      extension: true,
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
      extension: true,
      params: T.Object(Collection),
      query: T.Object({
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: VECTORS_MAX,
            default: LIST_LIMIT_DEFAULT,
            description: "Largest number of vectors",
          }),
        ),
        cursor: T.Optional(T.String({ maxLength: 512, description: "`cursor` of the page before" })),
        include_metadata: T.Optional(T.Boolean({ default: false, description: "Return metadata too" })),
      }),
      replies: {
        200: T.Object(
          {
            data: T.Array(Stored, { description: "Vectors of the page" }),
            cursor: Nullable(T.String(), { description: "Asks for the next page; null at the end" }),
          },
          { "x-svc-list": true },
        ),
      },
      faults: ["collection_not_found", "invalid_parameter"],
    },
    upsert: {
      id: "upsertVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/upsert",
      summary: "Insert or replace vectors",
      scope: "vectors:write",
      effect: "write",
      audit: "rollup",
      idempotency: "natural",
      params: T.Object(Tenant),
      body: upsertBody,
      bodyBytesMax: BODY_BYTES_MAX,
      replies: { 200: T.Object({ upserted_count: T.Integer({ description: "Number of vectors written" }) }) },
      faults: UPSERT_FAULTS,
      meters: ["vector_ops"],
      example: { collection: "articles", vectors: exampleVectors },
    },
    batchUpsert: {
      id: "batchUpsertVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/batch/upsert",
      summary: "Insert or replace a batch of vectors",
      description: "All or nothing: at most 1,000 vectors and 10 MiB.",
      scope: "vectors:write",
      effect: "write",
      audit: "rollup",
      idempotency: "natural",
      params: T.Object(Tenant),
      body: upsertBody,
      bodyBytesMax: BODY_BYTES_MAX,
      replies: { 201: T.Object({ count: T.Integer({ description: "Number of vectors written" }) }) },
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
        "every write that was confirmed before it. There are always `top_k` matches if as many vectors pass the filter " +
        "and the threshold.",
      scope: "vectors:read",
      effect: "read",
      params: T.Object(Tenant, { description: "Trades time for exactness" }),
      body: T.Object({
        collection: VectorCollectionName,
        vector: Values,
        top_k: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: VECTOR_TOP_K_MAX,
            default: 10,
            description: "Largest number of matches",
          }),
        ),
        filter: T.Optional(Filter),
        score_threshold: T.Optional(T.Number({ description: "Only matches with at least this score" })),
        include_metadata: T.Optional(T.Boolean({ default: true, description: "Return metadata too" })),
        include_values: T.Optional(
          T.Boolean({ default: false, description: "Return the numbers of the vectors too" }),
        ),
        params: T.Optional(
          T.Object(
            {
              ef: T.Optional(
                T.Integer({
                  minimum: 1,
                  maximum: VECTOR_EF_MAX,
                  description: "Candidates to examine: more is more exact and takes longer",
                }),
              ),
              exact: T.Optional(T.Boolean({ description: "Compare with every vector; false when left out" })),
            },
            { additionalProperties: false, description: "Trades time for exactness" },
          ),
        ),
      }),
      aliases: { limit: "top_k", values: "vector" },
      replies: {
        200: T.Object({
          matches: T.Array(
            T.Object({
              id: T.String({ description: "Id of the vector" }),
              score: T.Number({ description: "Similarity; higher is nearer" }),
              metadata: T.Optional(T.Record(T.String(), T.Unknown(), { description: "Its metadata" })),
              values: T.Optional(T.Array(T.Number(), { description: "Its numbers" })),
            }),
            { description: "The nearest vectors, the nearest first" },
          ),
          took_ms: T.Number({ description: "Milliseconds that the search took" }),
          exact: T.Boolean({ description: "True if every vector that passes the filter was compared" }),
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
      extension: true,
      params: T.Object(Tenant),
      body: T.Object({
        collection: VectorCollectionName,
        ids: Ids,
        include_metadata: T.Optional(T.Boolean({ default: true, description: "Return metadata too" })),
        include_values: T.Optional(
          T.Boolean({ default: true, description: "Return the numbers of the vectors too" }),
        ),
      }),
      replies: {
        200: T.Object({
          vectors: T.Array(Stored, { description: "Vectors that exist, in the order of the ids" }),
        }),
      },
      faults: ["collection_not_found", "invalid_parameter"],
      example: { collection: "articles", ids: ["a"] },
    },
    delete: {
      id: "deleteVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/delete",
      summary: "Delete vectors by ids or by a filter",
      scope: "vectors:write",
      effect: "destroy",
      audit: "rollup",
      idempotency: "natural",
      extension: true,
      params: T.Object(Tenant),
      body: T.Object(
        { collection: VectorCollectionName, ids: T.Optional(Ids), filter: T.Optional(Filter) },
        eitherOr(exactlyOne("ids", "filter")),
      ),
      replies: {
        200: T.Object({ deleted_count: T.Integer({ description: "Number of vectors that were deleted" }) }),
      },
      faults: ["collection_not_found", "missing_parameter", "invalid_parameter", "vector_store_unavailable"],
      example: { collection: "articles", ids: ["a"] },
    },
    count: {
      id: "countVectors",
      http: "POST /api/v1/tenants/{tenant_id}/vectors/count",
      summary: "Count vectors, all or those that match a filter",
      scope: "vectors:read",
      effect: "read",
      extension: true,
      params: T.Object(Tenant),
      body: T.Object({ collection: VectorCollectionName, filter: T.Optional(Filter) }),
      replies: { 200: T.Object({ count: T.Integer({ description: "Number of vectors" }) }) },
      faults: ["collection_not_found", "vector_store_unavailable"],
      example: { collection: "articles", filter: { must: [{ key: "color", match: { value: "red" } }] } },
    },
  },
)
