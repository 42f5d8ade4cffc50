/** Rows over HTTP: one INSERT and one SELECT a request, beside PocketBase where `BENCH_POCKETBASE` names its program. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../packages/server/src/testing/ports.ts"
import type { Part } from "./figures.ts"
import { type Load, load, type Target } from "./load.ts"
import { answers, apiKeyOf, PORT } from "./platform.ts"

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const CONNECTIONS = [1, 32]
const PEER_PORT = await freePort()
const PEER_URL = `http://127.0.0.1:${PEER_PORT}`
const PEER_LOGIN = { identity: "bench@example.com", password: "bench-password" }
const START_ATTEMPTS = 100
const ROW = { a: 1, b: "abc" }

interface Rows {
  readonly insert: Target
  readonly select: Target
}

const postJson = async (
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<unknown> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${await response.text()}`)
  return response.json()
}

const ourRows = async (dataDir: string): Promise<Rows> => {
  const url = `http://127.0.0.1:${PORT}/api/v1/sql`
  const headers = { authorization: `Bearer ${apiKeyOf(dataDir)}` }
  const run = (sql: string) => postJson(url, { sql }, headers)
  await run("CREATE TABLE IF NOT EXISTS bench_rows (id bigserial PRIMARY KEY, a int, b text)")
  await run("INSERT INTO bench_rows (id, a, b) VALUES (0, 1, 'abc') ON CONFLICT DO NOTHING")
  const target = (sql: string, params: unknown[]): Target => ({ url, headers, body: { sql, params } })
  return {
    insert: target("INSERT INTO bench_rows (a, b) VALUES ($1, $2) RETURNING id, a, b", [ROW.a, ROW.b]),
    select: target("SELECT id, a, b FROM bench_rows WHERE id = $1", [0]),
  }
}

const startPeer = async (program: string, folder: string): Promise<ChildProcess> => {
  const dir = `--dir=${folder}`
  spawnSync(program, ["superuser", "upsert", PEER_LOGIN.identity, PEER_LOGIN.password, dir])
  const child = spawn(program, ["serve", `--http=127.0.0.1:${PEER_PORT}`, dir], { stdio: "ignore" })
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    if (await answers(`${PEER_URL}/api/health`)) return child
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  child.kill()
  throw new Error("PocketBase did not start")
}

const peerRows = async (): Promise<Rows> => {
  const login = await postJson(`${PEER_URL}/api/collections/_superusers/auth-with-password`, PEER_LOGIN)
  const { token } = login as { token: string }
  const open = { listRule: "", viewRule: "", createRule: "" }
  const fields = [
    { name: "a", type: "number" },
    { name: "b", type: "text" },
  ]
  await postJson(
    `${PEER_URL}/api/collections`,
    { name: "rows", type: "base", fields, ...open },
    { authorization: token },
  )
  const url = `${PEER_URL}/api/collections/rows/records`
  const { id } = (await postJson(url, ROW)) as { id: string }
  return {
    insert: { url, headers: {}, body: ROW },
    select: { url: `${url}/${id}`, headers: {}, lua: ['wrk.method = "GET"'] },
  }
}

const describe = ({ requestsPerSecond, p50Ms, p99Ms }: Load): string =>
  `${requestsPerSecond.toFixed(0)} req/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`

export const sqlFigures: Part = async (tell, dataDir) => {
  const program = process.env.BENCH_POCKETBASE
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-pocketbase-"))
  const peer = program === undefined ? undefined : await startPeer(program, folder)
  try {
    const ours = await ourRows(dataDir)
    const theirs = peer && (await peerRows())
    for (const what of ["insert", "select"] as const) {
      for (const connections of CONNECTIONS) {
        const name = `sql ${what}, ${connections} connections`
        const own = await load(ours[what], connections, SECONDS)
        tell({ [name]: describe(own) })
        if (!theirs) continue
        const other = await load(theirs[what], connections, SECONDS)
        const ratio = own.requestsPerSecond / other.requestsPerSecond
        tell({ [`${name}, PocketBase`]: describe(other), [`${name}, of PocketBase`]: ratio.toFixed(2) })
      }
    }
  } finally {
    peer?.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
