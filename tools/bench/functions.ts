/** Functions: first calls with and without a prepared process, and warm ones, beside Node's own HTTP server and workerd. */
import { spawn } from "node:child_process"
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { createSvc, type Svc } from "@svc/sdk"
import { freePort } from "../../packages/server/src/testing/ports.ts"
import { attempt, type Figures, type Part, type Tell } from "./figures.ts"
import { type Load, load } from "./load.ts"
import { apiKeyOf, median, PORT } from "./platform.ts"
import { findWorkerd, startWorkerd } from "./workerd.ts"

const RUNS = Number(process.env.BENCH_FUNCTION_RUNS ?? 10)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const BARE_PORT = await freePort()
const WORKERD_PORT = await freePort()
/** Longer than a harness takes to be prepared for the next start. */
const PREPARED_MS = 1_500
const STARTED_MS_MAX = 10_000
const CODE = "export const handler = async event => ({ value: event.key })"
/** The same as a worker. */
const FETCH_CODE =
  "export default { async fetch(request) { const { key } = await request.json(); return Response.json({ value: key }) } }"
const BODY = { key: "a" }

const bareStart = async (): Promise<{ ms: number; stop: () => void }> => {
  const from = performance.now()
  const child = spawn(process.execPath, ["tools/bench/bare.ts", String(BARE_PORT)], { stdio: "inherit" })
  const url = `http://127.0.0.1:${BARE_PORT}/`
  while (performance.now() - from < STARTED_MS_MAX) {
    const reply = await fetch(url, { method: "POST", body: '{"key":"a"}' }).catch(() => undefined)
    if (reply?.ok) return { ms: performance.now() - from, stop: () => child.kill() }
    await delay(1)
  }
  child.kill()
  throw new Error("the bare server does not serve")
}

/** From the request to the reply of a function that was never called. */
const firstCall = async (svc: Svc, memory_mb: number, vcpus: number, runtime: string): Promise<number> => {
  const code =
    runtime === "nodejs" ? CODE : 'def handler(event, context):\n  return {"value": event["key"]}\n'
  const { id } = await svc.functions.create({
    name: `f${crypto.randomUUID()}`,
    runtime,
    code,
    memory_mb,
    vcpus,
  })
  const from = performance.now()
  const answer = await svc.functions.invoke({ id, payload: { key: "a" } })
  const ms = performance.now() - from
  if (answer.status !== "success") throw new Error(`a function failed: ${JSON.stringify(answer)}`)
  await svc.functions.delete({ id })
  return ms
}

const spread = (values: readonly number[]): string =>
  `${median(values).toFixed(0)} ms (${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`

/** `shapeOf` names the shape of each run: a shape that is new finds nothing prepared. */
const firstCalls = async (
  svc: Svc,
  shapeOf: (run: number) => [number, number],
  runtime: string,
  restMs: number,
) => {
  const values: number[] = []
  for (let run = 0; run < RUNS; run++) {
    values.push(await firstCall(svc, ...shapeOf(run), runtime))
    await delay(restMs)
  }
  return spread(values)
}

const told = ({ requestsPerSecond, p50Ms, p99Ms }: Load): string =>
  `${requestsPerSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`

/** A worker behind its public URL, and the same worker under workerd without a platform in front, one after the other. */
const besideWorkerd = async (svc: Svc, tell: Tell): Promise<Figures> => {
  const program = findWorkerd()
  if (program === undefined) throw new Error("no workerd on PATH or in node_modules")
  const shape = { runtime: "nodejs", concurrency: 8, vcpus: 1, public: true } as const
  const { id, url } = await svc.functions.create({ name: "worker", code: FETCH_CODE, ...shape })
  const other = await startWorkerd(program, { code: FETCH_CODE, port: WORKERD_PORT, body: BODY })
  tell({ "workerd: start to first reply": `${other.ms.toFixed(0)} ms` })
  const own = { url, headers: {}, body: BODY }
  const its = { url: `http://127.0.0.1:${WORKERD_PORT}/`, headers: {}, body: BODY }
  try {
    for (const target of [own, its]) await load(target, 8, 2)
    for (const connections of [1, 8]) {
      const theirs = await load(its, connections, SECONDS)
      const ours = await load(own, connections, SECONDS)
      const ratio = ours.requestsPerSecond / theirs.requestsPerSecond
      tell({
        [`workerd: ${connections} connections`]: told(theirs),
        [`function's URL: ${connections} connections`]: `${told(ours)}; ${ratio.toFixed(2)} of workerd`,
      })
    }
  } finally {
    other.stop()
    await svc.functions.delete({ id })
  }
  return {}
}

const warm = async (svc: Svc, apiKey: string, concurrency: number, connections: number): Promise<string> => {
  const name = `warm${concurrency}`
  await svc.functions.create({ name, runtime: "nodejs", code: CODE, concurrency, vcpus: 1 })
  const url = `http://127.0.0.1:${PORT}/v1/functions/${name}/invoke`
  const target = { url, headers: { authorization: `Bearer ${apiKey}` }, body: { key: "a" } }
  try {
    await load(target, connections, 2)
    return told(await load(target, connections, SECONDS))
  } finally {
    await svc.functions.delete({ id: name })
  }
}

/** Node's own server: as often as functions are, and under load. */
const bareFigures = async (tell: Tell) => {
  const starts: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const { ms, stop } = await bareStart()
    starts.push(ms)
    stop()
    await delay(100)
  }
  tell({ "bare node: start to first reply": spread(starts) })
  const bare = await bareStart()
  try {
    const target = { url: `http://127.0.0.1:${BARE_PORT}/`, headers: {}, body: BODY }
    for (const connections of [1, 8])
      tell({ [`bare node: ${connections} connections`]: told(await load(target, connections, SECONDS)) })
  } finally {
    bare.stop()
  }
  return {}
}

export const functionFigures: Part = async (tell, dataDir) => {
  const apiKey = apiKeyOf(dataDir)
  const svc = createSvc({ apiKey, baseUrl: `http://127.0.0.1:${PORT}` })
  const one = (what: string, work: () => Promise<string>) =>
    attempt(tell, what, async () => ({ [what]: await work() }))
  await attempt(tell, "bare node", () => bareFigures(tell))
  await firstCall(svc, 128, 1, "nodejs")
  await delay(PREPARED_MS)
  const prepared = () => [128, 1] satisfies [number, number]
  const fresh = (run: number) => [129 + run, 1] satisfies [number, number]
  const first = (shapeOf: typeof fresh, runtime: string) => () =>
    firstCalls(svc, shapeOf, runtime, PREPARED_MS)
  await one("node function, first call, prepared", first(prepared, "nodejs"))
  await one("node function, first call, nothing prepared", first(fresh, "nodejs"))
  await one("python function, first call, nothing prepared", first(fresh, "python3"))
  await one("warm function: 1 connection", () => warm(svc, apiKey, 1, 1))
  await one("warm function: 8 connections, 8 at once in one instance", () => warm(svc, apiKey, 8, 8))
  await attempt(tell, "beside workerd", () => besideWorkerd(svc, tell))
}
