/**
 * Qdrant, over its HTTP API: one of its collections for each of ours. How far each has come is kept there too, so that it
 * shares the fate of what it speaks of.
 */
import { PortError } from "../../../port-error.ts"
import type { CollectionShape, VectorIndexPort, VectorMatch, VectorQuery, VectorRecord } from "../../port.ts"
import { createQdrantApi, type QdrantApi } from "./api.ts"
import { pointId, toFilter, toPayload } from "./payload.ts"

export interface QdrantOptions {
  readonly url: string
  readonly key: string | undefined
}

const POSITIONS = "svc_positions"
/** Points of one request; Qdrant takes 32 MB at most. */
const POINTS_MAX = 200
const SCROLL_MAX = 1_000

const DISTANCES = { cosine: "Cosine", dot: "Dot", euclidean: "Euclid" } as const

interface Point {
  readonly id: string
  readonly score?: number
  readonly payload?: { readonly id?: string; readonly through?: number }
}

const nameOf = (collectionId: string): string => `svc_${collectionId}`

const isMissing = (error: unknown): boolean => error instanceof PortError && error.kind === "missing"

const positionsOf = (api: QdrantApi) => ({
  async read(collectionId: string): Promise<number | undefined> {
    const body = { ids: [collectionId], with_payload: true }
    try {
      const [point] = (await api.request("POST", `/collections/${POSITIONS}/points`, body)) as Point[]
      return point?.payload?.through
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  },
  async write(collectionId: string, through: number): Promise<void> {
    const points = [{ id: collectionId, vector: [1], payload: { through } }]
    const put = () => api.request("PUT", `/collections/${POSITIONS}/points?wait=true`, { points })
    try {
      await put()
    } catch (error) {
      if (!isMissing(error)) throw error
      await api.request("PUT", `/collections/${POSITIONS}`, { vectors: { size: 1, distance: "Dot" } })
      await put()
    }
  },
  async forget(collectionId: string): Promise<void> {
    try {
      await api.request("POST", `/collections/${POSITIONS}/points/delete?wait=true`, {
        points: [collectionId],
      })
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  },
})

const settingsOf = ({ dimension, metric, type, m, efConstruction }: CollectionShape) => ({
  vectors: { size: dimension, distance: DISTANCES[metric] },
  // Without links there is no graph, and Qdrant compares all.
  hnsw_config: { m: type === "flat" ? 0 : m, ef_construct: efConstruction },
})

const toPoint = ({ id, values, metadata }: VectorRecord) => ({
  id: pointId(id),
  vector: Array.from(values),
  payload: toPayload(id, metadata),
})

const pieces = function* <Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}

const byScore = (a: VectorMatch, b: VectorMatch): number =>
  b.score - a.score || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/** Qdrant's score of a Euclidean search is the distance itself. */
const scoreOf = ({ metric }: CollectionShape, score: number): number =>
  metric === "euclidean" ? 1 / (1 + score) : score

export const openQdrantIndex = (options: QdrantOptions): VectorIndexPort => {
  const api = createQdrantApi(options)
  const positions = positionsOf(api)
  let closed = false

  const request: QdrantApi["request"] = async (method, path, body) => {
    if (closed) throw new PortError("unavailable", "the index is closed")
    return await api.request(method, path, body)
  }

  const dropped = async (collectionId: string) => {
    // The position first: what has none is told again from the start.
    await positions.forget(collectionId)
    await request("DELETE", `/collections/${nameOf(collectionId)}`).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
  }

  const query = async (shape: CollectionShape, { vector, topK, filter, ef }: VectorQuery, exact: boolean) => {
    const result = (await request("POST", `/collections/${nameOf(shape.id)}/points/query`, {
      query: Array.from(vector),
      limit: topK,
      with_payload: ["id"],
      params: { exact, ...(ef !== undefined && { hnsw_ef: Math.max(ef, topK) }) },
      ...(filter && { filter: toFilter(filter) }),
    })) as { points: Point[] }
    return result.points.map(({ payload, score = 0 }) => ({
      id: payload?.id ?? "",
      score: scoreOf(shape, score),
    }))
  }

  return {
    capabilities: { engine: "qdrant", shared: true },
    async position({ id }) {
      if (closed) throw new PortError("unavailable", "the index is closed")
      return await positions.read(id)
    },
    async apply(shape, { reset, upserts, deletes, through }) {
      const path = `/collections/${nameOf(shape.id)}`
      if (reset) {
        await dropped(shape.id)
        await request("PUT", path, settingsOf(shape))
      }
      for (const some of pieces(upserts, POINTS_MAX))
        await request("PUT", `${path}/points?wait=true`, { points: some.map(toPoint) })
      for (const some of pieces(deletes, SCROLL_MAX))
        await request("POST", `${path}/points/delete?wait=true`, { points: some.map(pointId) })
      if (upserts.length + deletes.length === 0) await request("GET", path)
      await positions.write(shape.id, through)
    },
    async search(shape, asked) {
      const { topK, exact, scoreThreshold } = asked
      const first = await query(shape, asked, exact)
      const isShort = first.length < topK && !exact
      const matches = isShort ? await query(shape, asked, true) : first
      return {
        matches: matches
          .filter(({ score }) => scoreThreshold === undefined || score >= scoreThreshold)
          .sort(byScore),
        exact: exact || isShort,
      }
    },
    async select({ id }, filter, limit) {
      const ids: string[] = []
      let offset: unknown = null
      do {
        const page = (await request("POST", `/collections/${nameOf(id)}/points/scroll`, {
          filter: toFilter(filter),
          limit: Math.min(SCROLL_MAX, limit - ids.length),
          with_payload: ["id"],
          ...(offset !== null && { offset }),
        })) as { points: Point[]; next_page_offset: unknown }
        ids.push(...page.points.map(({ payload }) => payload?.id ?? ""))
        offset = page.next_page_offset ?? null
      } while (offset !== null && ids.length < limit)
      return ids
    },
    async count({ id }, filter) {
      const body = { filter: toFilter(filter), exact: true }
      const result = await request("POST", `/collections/${nameOf(id)}/points/count`, body)
      return (result as { count: number }).count
    },
    drop: dropped,
    // Qdrant builds on its own, and searches what is not built yet.
    state: () => "ready",
    usage: () => ({ collections: 0, vectors: 0, bytes: 0 }),
    async health() {
      try {
        await request("GET", "/collections")
        return { ok: true }
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : "unknown" }
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true
    },
  }
}
