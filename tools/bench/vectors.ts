/** What a search over a hundred thousand vectors costs, with and without a filter, and how many of the nearest it finds. */
import { readFileSync } from "node:fs"
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { createSvc, type Svc } from "@svc/sdk"
import { exactSearch, MetricKind } from "usearch"
import { makeClusters } from "../../packages/server/src/ports/vectors/testing/clusters.ts"
import type { Part } from "./figures.ts"
import { load } from "./load.ts"
import { apiKeyOf, PORT } from "./platform.ts"

const SIZE = 100_000
const DIMENSION = 128
const CLUSTERS = 500
const BATCH = 500
const TOP_K = 10
const QUESTIONS = 50
const SECONDS = Math.min(3, Number(process.env.BENCH_SECONDS ?? 3))
const CLIENTS = 8
const BUILD_MS_MAX = 120_000

/** Filters by the percentage of vectors that they leave, with the step between those. */
const SELECTIONS = [
  { percent: 100, step: 1, filter: undefined },
  { percent: 10, step: 10, filter: { tenth: 3 } },
  { percent: 1, step: 100, filter: { hundredth: 3 } },
  { percent: 0.1, step: 1000, filter: { thousandth: 3 } },
] as const

type Selection = (typeof SELECTIONS)[number]

const set = makeClusters(SIZE, DIMENSION, CLUSTERS)

const megabytes = (pid: number): number =>
  Number(/^Rss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) / 1024

/** The vectors that fit, side by side, for the library to compare one by one. */
const fitting = ({ step }: Selection) => {
  const numbers =
    step === 1 ? set.rows.map((_, n) => n) : set.rows.flatMap((_, n) => (n % step === 3 ? n : []))
  const rows = new Float32Array(numbers.length * DIMENSION)
  numbers.forEach((number, n) => {
    rows.set(set.rows[number] ?? [], n * DIMENSION)
  })
  return { numbers, rows }
}

const measure = async (
  svc: Svc,
  tenant_id: string,
  headers: Record<string, string>,
  selection: Selection,
) => {
  const { percent, filter } = selection
  const { numbers, rows } = fitting(selection)
  let found = 0
  let bruteMs = 0
  const body = { collection: "bench", top_k: TOP_K, include_metadata: false, ...(filter && { filter }) }
  for (let n = 0; n < QUESTIONS; n++) {
    const question = set.question()
    const from = performance.now()
    const { keys } = exactSearch(rows, question, DIMENSION, TOP_K, MetricKind.Cos, 1)
    bruteMs += performance.now() - from
    const nearest = new Set(Array.from(keys, key => `v${numbers[Number(key)]}`))
    const { matches } = await svc.vectors.search({ tenant_id, ...body, vector: Array.from(question) })
    found += matches.filter(({ id }) => nearest.has(id)).length
  }
  const url = `http://127.0.0.1:${PORT}/api/v1/tenants/${tenant_id}/vectors/search`
  const target = { url, headers, body: { ...body, vector: Array.from(set.question()) } }
  const measured = await load(target, CLIENTS, SECONDS)
  return {
    [`search_${percent}_percent_recall_at_10`]: Number((found / (QUESTIONS * TOP_K)).toFixed(4)),
    [`search_${percent}_percent_per_second`]: Math.round(measured.requestsPerSecond),
    [`search_${percent}_percent_p50_ms`]: measured.p50Ms,
    [`search_${percent}_percent_brute_force_per_second`]: Math.round((QUESTIONS * 1_000) / bruteMs),
  }
}

const fill = async (svc: Svc, at: { tenant_id: string; collection: string }): Promise<number> => {
  const from = performance.now()
  const write = async (writer: number) => {
    for (let first = writer * BATCH; first < SIZE; first += 2 * BATCH) {
      const vectors = set.rows.slice(first, first + BATCH).map((values, n) => ({
        id: `v${first + n}`,
        values: Array.from(values),
        metadata: set.metadata[first + n] ?? {},
      }))
      await svc.vectors.batchUpsert({ ...at, vectors })
    }
  }
  await Promise.all([write(0), write(1)])
  return performance.now() - from
}

export const vectorFigures: Part = async (tell, dataDir, pid) => {
  const apiKey = apiKeyOf(dataDir)
  const svc = createSvc({ baseUrl: `http://127.0.0.1:${PORT}`, apiKey, retries: 0 })
  const tenant_id = (
    JSON.parse(readFileSync(`${dataDir}/first-run.json`, "utf8")) as { organization_id: string }
  ).organization_id
  const at = { tenant_id, collection: "bench" }
  await svc.vectors.createCollection({ tenant_id, name: "bench", dimension: DIMENSION })
  const upsertMs = await fill(svc, at)

  const before = megabytes(pid)
  const ask = () => svc.vectors.search({ ...at, vector: Array.from(set.question()), include_metadata: false })
  const from = performance.now()
  await ask()
  const firstSearchMs = performance.now() - from
  let slowestMs = 0
  while ((await svc.vectors.getCollection({ tenant_id, name: "bench" })).index_state !== "ready") {
    if (performance.now() - from > BUILD_MS_MAX) throw new Error("the graph was not built in time")
    const asked = performance.now()
    await ask()
    slowestMs = Math.max(slowestMs, performance.now() - asked)
    await delay(100)
  }
  const buildMs = performance.now() - from
  const bytesPerVector = ((megabytes(pid) - before) * 2 ** 20) / SIZE

  tell({
    upserts_per_second: Math.round((SIZE * 1_000) / upsertMs),
    first_search_loading_all_ms: Math.round(firstSearchMs),
    graph_built_ms: Math.round(buildMs),
    slowest_search_while_building_ms: Math.round(slowestMs),
    bytes_per_vector: Math.round(bytesPerVector),
  })
  const headers = { authorization: `Bearer ${apiKey}` }
  for (const selection of SELECTIONS) tell(await measure(svc, tenant_id, headers, selection))
  await svc.vectors.deleteCollection({ tenant_id, name: "bench" })
}
