/** Full-text search over HTTP: how long loading takes, and queries of one, two and unfinished words. */
import { performance } from "node:perf_hooks"
import { createSvc, type Svc } from "@svc/sdk"
import type { Part } from "./figures.ts"
import { apiKeyOf, PORT } from "./platform.ts"

const DOCUMENTS = Number(process.env.BENCH_SEARCH_DOCUMENTS ?? 50_000)
const BATCH = 1000
const WORDS = 20_000
const WORDS_A_DOCUMENT = 60
const QUERIES = 400

/** A generator of Lehmer's (minimal standard), so that every run has the same documents. */
const createRandom = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

const SYLLABLES = [
  "ba",
  "co",
  "di",
  "fe",
  "gu",
  "ha",
  "jo",
  "ki",
  "lu",
  "me",
  "no",
  "pa",
  "ri",
  "so",
  "tu",
  "ve",
  "wi",
  "za",
]

/** The same pronounceable word for the same number. */
const wordOf = (n: number): string => {
  let word = ""
  for (let rest = n + SYLLABLES.length; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    word += SYLLABLES[rest % SYLLABLES.length] ?? ""
  }
  return word
}

/** Few words are frequent and most are rare, roughly as in language. */
const draw = (random: () => number): string => wordOf(Math.floor(WORDS * random() ** 4))

const textOf = (random: () => number, words: number): string =>
  Array.from({ length: words }, () => draw(random)).join(" ")

const load = async (svc: Svc): Promise<number> => {
  const random = createRandom(1)
  const { id } = await svc.search.upsertSource({ name: "bench", type: "inline" })
  const from = performance.now()
  for (let first = 0; first < DOCUMENTS; first += BATCH) {
    const documents = Array.from({ length: BATCH }, (_, n) => ({
      id: String(first + n),
      title: textOf(random, 5),
      text: textOf(random, WORDS_A_DOCUMENT),
    }))
    await svc.search.putDocuments({ id, documents })
  }
  return (performance.now() - from) / 1000
}

/** Rarer than the drawn ones of documents: people leave out the words that are everywhere. */
const queryOf = (random: () => number, n: number): string => {
  const word = () => wordOf(50 + Math.floor((WORDS - 50) * random() ** 2))
  return [() => `${word()} `, () => `${draw(random)} ${word()} `, () => word().slice(0, 4)][n % 3]?.() ?? ""
}

export const searchFigures: Part = async (tell, dataDir) => {
  const svc = createSvc({ apiKey: apiKeyOf(dataDir), baseUrl: `http://127.0.0.1:${PORT}` })
  tell({ search_documents: DOCUMENTS, search_load_s: Number((await load(svc)).toFixed(1)) })
  const random = createRandom(2)
  const times: number[] = []
  for (let n = 0; n < QUERIES; n++) {
    const q = queryOf(random, n)
    const from = performance.now()
    await svc.search.query({ q, limit: 10 })
    times.push(performance.now() - from)
  }
  times.sort((a, b) => a - b)
  const percentile = (part: number) => Number((times[Math.floor(times.length * part)] ?? 0).toFixed(2))
  tell({ search_p50_ms: percentile(0.5), search_p99_ms: percentile(0.99) })
}
