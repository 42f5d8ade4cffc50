/**
 * What the AI gateway adds to a model server that answers at once: with its budgets, keys and limits on. A peer is measured
 * beside it where `BENCH_AI_PEER` is its base URL and `BENCH_AI_PEER_HEADERS` a JSON object of what leads it to
 * `BENCH_AI_UPSTREAM_PORT`.
 */
import { spawn } from "node:child_process"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { freePort } from "../../packages/server/src/testing/ports.ts"
import { attempt, type Figures, type Part, printFigures } from "./figures.ts"
import { load } from "./load.ts"
import { residentMegabytes } from "./memory.ts"
import { answers, apiKeyOf, makeDataDir, median, start, stop } from "./platform.ts"

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const CONNECTIONS = [1, 32, 256] as const
const FIRST_WORDS_RUNS = 100
const STREAMS = Number(process.env.BENCH_STREAMS ?? 200)
const WORDS = 64
/** Ten times the pace of the words. */
const STALL_MS = 200
const MESSAGES = [{ role: "user", content: "Say something about the weather of today, in a hundred words." }]

interface Way {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

const post = ({ url, headers }: Way, body: object): Promise<Response> =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "bench", messages: MESSAGES, ...body }),
  })

/** Microseconds of processor time that a process has used: what counts where a machine does much else. */
const processorUs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  // Fields 14 and 15, in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

const throughput = async (way: Way): Promise<Figures> => {
  const figures: Record<string, number> = {}
  const target = {
    url: `${way.url}/chat/completions`,
    headers: way.headers,
    body: { model: "bench", messages: MESSAGES, max_tokens: 100 },
  }
  // The first requests load what is loaded at its first use.
  await load(target, 32, 1)
  for (const connections of CONNECTIONS) {
    const { requestsPerSecond, p50Ms, p99Ms } = await load(target, connections, SECONDS)
    figures[`${way.name}_${connections}_per_second`] = Math.round(requestsPerSecond)
    figures[`${way.name}_${connections}_p50_ms`] = p50Ms
    figures[`${way.name}_${connections}_p99_ms`] = p99Ms
  }
  return figures
}

const firstWords = async (way: Way): Promise<Figures> => {
  const times: number[] = []
  for (let run = 0; run < FIRST_WORDS_RUNS; run++) {
    const from = performance.now()
    const response = await post(way, { stream: true, max_tokens: 1 })
    const reader = response.body?.getReader()
    await reader?.read()
    times.push(performance.now() - from)
    while (!(await reader?.read())?.done);
  }
  return { [`${way.name}_first_words_p50_ms`]: Number(median(times).toFixed(2)) }
}

/** Reads one paced stream; gives its words and its longest pause. */
const readStream = async (way: Way) => {
  const response = await post(way, { stream: true, max_tokens: WORDS })
  const decoder = new TextDecoder()
  let text = ""
  let longestMs = 0
  let lastMs: number | undefined
  for await (const bytes of response.body ?? []) {
    const nowMs = performance.now()
    if (lastMs !== undefined) longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
    text += decoder.decode(bytes, { stream: true })
  }
  return { words: text.split('"content":"word "').length - 1, longestMs, isWhole: text.includes("[DONE]") }
}

const streams = async (way: Way): Promise<Figures> => {
  const read = await Promise.all(Array.from({ length: STREAMS }, () => readStream(way)))
  return {
    [`${way.name}_streams`]: STREAMS,
    [`${way.name}_streams_lost_words`]: read.reduce((sum, { words }) => sum + WORDS - words, 0),
    [`${way.name}_streams_not_whole`]: read.filter(({ isWhole }) => !isWhole).length,
    [`${way.name}_streams_stalled`]: read.filter(({ longestMs }) => longestMs > STALL_MS).length,
    [`${way.name}_streams_longest_pause_p50_ms`]: Math.round(median(read.map(({ longestMs }) => longestMs))),
  }
}

/** What a request, and a word of a stream, costs the platform's own process. */
const processor = async (way: Way, pid: number): Promise<Figures> => {
  const target = {
    url: `${way.url}/chat/completions`,
    headers: way.headers,
    body: { model: "bench", messages: MESSAGES, max_tokens: 100 },
  }
  const before = processorUs(pid)
  const { requestsPerSecond } = await load(target, 32, SECONDS)
  const between = processorUs(pid)
  await streams(way)
  return {
    ai_gateway_processor_us_per_request: Math.round((between - before) / (requestsPerSecond * SECONDS)),
    ai_gateway_processor_us_per_word: Number(((processorUs(pid) - between) / (STREAMS * WORDS)).toFixed(1)),
  }
}

const peer = (): Way | undefined => {
  const { BENCH_AI_PEER: url, BENCH_AI_PEER_HEADERS: headers = "{}" } = process.env
  return url === undefined ? undefined : { name: "ai_peer", url, headers: JSON.parse(headers) }
}

const upstreamsFile = (folder: string, url: string): string => {
  const path = join(folder, "upstreams.json")
  const prices = { input_micros_per_mtok: 150_000, output_micros_per_mtok: 600_000 }
  const models = [{ id: "bench", kinds: ["chat"], max_output_tokens: 1_000, prices }]
  writeFileSync(path, JSON.stringify([{ name: "bench", base_url: url, models }]))
  return path
}

const startUpstream = async () => {
  const port = Number(process.env.BENCH_AI_UPSTREAM_PORT ?? (await freePort()))
  const program = fileURLToPath(new URL("ai-upstream.ts", import.meta.url))
  const child = spawn(process.execPath, [program, String(port)], { stdio: ["ignore", "ignore", "inherit"] })
  const url = `http://127.0.0.1:${port}`
  while (!(await answers(url))) if (child.exitCode !== null) throw new Error("the model server did not start")
  return { url: `${url}/v1`, stop: () => void child.kill() }
}

export const aiFigures: Part = async tell => {
  const dataDir = makeDataDir()
  const upstream = await startUpstream()
  const port = await freePort()
  const started = await start(dataDir, { SVC_AI_UPSTREAMS: upstreamsFile(dataDir, upstream.url) }, port)
  const { pid = 0 } = started.process
  try {
    const gateway = `http://127.0.0.1:${port}/v1/ai`
    const ways: Way[] = [
      { name: "ai_direct", url: upstream.url, headers: {} },
      { name: "ai_gateway", url: gateway, headers: { authorization: `Bearer ${apiKeyOf(dataDir)}` } },
      ...[peer() ?? []].flat(),
    ]
    tell({ ai_gateway_idle_rss_mb: Math.round(await residentMegabytes(pid)) })
    for (const way of ways) {
      await attempt(tell, `${way.name}_per_second`, () => throughput(way))
      await attempt(tell, `${way.name}_first_words`, () => firstWords(way))
      await attempt(tell, `${way.name}_streams`, () => streams(way))
    }
    await attempt(tell, "ai_gateway_processor", () => processor(ways[1] as Way, pid))
    tell({ ai_gateway_rss_mb: Math.round(await residentMegabytes(pid)) })
  } finally {
    await stop(started.process)
    upstream.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

if (import.meta.main) await aiFigures(printFigures, "", 0)
