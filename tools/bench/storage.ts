/** Objects over HTTP against nginx (static files, WebDAV PUT) and MinIO on the same disk, and memory while gigabytes pass. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { freePort } from "../../packages/server/src/testing/ports.ts"
import type { Part } from "./figures.ts"
import { type Load, load } from "./load.ts"
import { residentMegabytes } from "./memory.ts"
import { startMinio } from "./minio.ts"
import { apiKeyOf, PORT } from "./platform.ts"
import { ownServer, presignedFigures } from "./storage-presigned.ts"

const KIB = 1024
const MIB = 1024 * KIB
const NGINX_PORT = await freePort()
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const SMALL_KEYS = 500
const STREAM_BYTES = 1024 * MIB
const STREAM_CLIENTS = Number(process.env.BENCH_STREAMS ?? 20)
const BUCKET = "bench-objects"

interface Peer {
  readonly name: string
  /** Up to and without the key. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

const nginxConfig = (folder: string): string => `
daemon off; worker_processes auto; pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off; sendfile on; keepalive_requests 1000000; client_max_body_size 2g;
  client_body_temp_path ${folder}/body; client_body_buffer_size 16k;
  server { listen 127.0.0.1:${NGINX_PORT}; root ${folder}/files;
    location / { dav_methods PUT DELETE; create_full_put_path on; } }
}`

/** Undefined where there is no nginx with WebDAV. */
const startNginx = async (folder: string): Promise<ChildProcess | undefined> => {
  if (spawnSync("nginx", ["-v"]).status !== 0) return undefined
  // Its workers give up root, so they must be let in.
  mkdirSync(join(folder, "files"), { recursive: true })
  spawnSync("chmod", ["-R", "777", folder])
  writeFileSync(join(folder, "nginx.conf"), nginxConfig(folder))
  const child = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "ignore" })
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await fetch(`http://127.0.0.1:${NGINX_PORT}/`).catch(() => undefined)) return child
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  child.kill()
  return undefined
}

const put = async ({ url, headers }: Peer, key: string, body: Buffer) => {
  const response = await fetch(`${url}/${key}`, { method: "PUT", headers, body })
  if (!response.ok) throw new Error(`PUT ${key}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}

const getting = (peer: Peer, prefix: string, keys: number) => ({
  url: `${peer.url}/`,
  headers: peer.headers,
  lua: [
    `local path = ${JSON.stringify(new URL(peer.url).pathname.replace(/\/$/, ""))}`,
    "local n = 0",
    `function request() n = n + 1; return wrk.format("GET", path .. "/${prefix}" .. (n % ${keys})) end`,
  ],
})

const putting = (peer: Peer, prefix: string, bytes: number, keys: number) => ({
  url: `${peer.url}/`,
  headers: peer.headers,
  lua: [
    `local path = ${JSON.stringify(new URL(peer.url).pathname.replace(/\/$/, ""))}`,
    "local n = 0",
    `local body = string.rep("x", ${bytes - 12})`,
    `function request() n = n + 1; return wrk.format("PUT", path .. "/${prefix}" .. (n % ${keys}), nil, body .. string.format("%012d", n)) end`,
  ],
})

interface Case {
  readonly what: string
  readonly bytes: number
  readonly connections: number
  readonly run: (peer: Peer) => Promise<Load>
}

const cases: readonly Case[] = [
  ...[1, 16].flatMap(connections => [
    {
      what: "get 4 KiB",
      bytes: 4 * KIB,
      connections,
      run: (peer: Peer) => load(getting(peer, "small-", SMALL_KEYS), connections, SECONDS),
    },
    {
      what: "put 4 KiB",
      bytes: 4 * KIB,
      connections,
      run: (peer: Peer) => load(putting(peer, "put-small-", 4 * KIB, 10_000), connections, SECONDS),
    },
  ]),
  {
    what: "get 10 MiB",
    bytes: 10 * MIB,
    connections: 4,
    run: peer => load(getting(peer, "large-", 2), 4, SECONDS),
  },
  {
    what: "put 10 MiB",
    bytes: 10 * MIB,
    connections: 4,
    run: peer => load(putting(peer, "put-large-", 10 * MIB, 20), 4, SECONDS),
  },
]

const fill = async (peer: Peer) => {
  for (let at = 0; at < SMALL_KEYS; at++) await put(peer, `small-${at}`, Buffer.alloc(4 * KIB, at))
  for (let at = 0; at < 2; at++) await put(peer, `large-${at}`, Buffer.alloc(10 * MIB, at))
}

const describe = ({ bytes }: Case, { requestsPerSecond, p50Ms, p99Ms }: Load): string => {
  const rate =
    bytes >= MIB
      ? `${((requestsPerSecond * bytes) / MIB).toFixed(0)} MiB/s`
      : `${requestsPerSecond.toFixed(0)} req/s`
  return `${rate}, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`
}

/** Noise that no two clients share, a piece at a time. */
function* noise(seed: number) {
  const piece = Buffer.alloc(256 * KIB)
  for (let at = 0; at < STREAM_BYTES / piece.length; at++) {
    piece.writeUInt32LE(seed * 65_536 + at, 0)
    yield piece
  }
}

const streamOne = async (peer: Peer, client: number) => {
  const key = `stream-${client}`
  await new Promise<void>((resolve, reject) => {
    const sending = request(`${peer.url}/${key}`, {
      method: "PUT",
      headers: { ...peer.headers, "content-length": String(STREAM_BYTES) },
    })
    sending.once("response", reply => {
      reply.resume()
      if (reply.statusCode === 200) reply.once("end", resolve)
      else reject(new Error(`PUT ${key}: ${reply.statusCode}`))
    })
    sending.once("error", reject)
    pipeline(Readable.from(noise(client)), sending).catch(reject)
  })
  const { body } = await fetch(`${peer.url}/${key}`, { headers: peer.headers })
  if (body) for await (const _ of body);
  await fetch(`${peer.url}/${key}`, { method: "DELETE", headers: peer.headers })
}

/** Megabytes of all the platform's processes: before, and the most seen while the clients take their turns. */
const memoryWhileStreaming = async (peer: Peer, pid: number) => {
  const before = await residentMegabytes(pid)
  let most = 0
  let isOver = false
  const watch = (async () => {
    while (!isOver) {
      most = Math.max(most, await residentMegabytes(pid))
      await new Promise(resolve => setTimeout(resolve, 500))
    }
  })()
  for (let client = 0; client < STREAM_CLIENTS; client++) await streamOne(peer, client)
  isOver = true
  await watch
  return { before, most }
}

export const storageFigures: Part = async (tell, dataDir, pid) => {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-nginx-"))
  const nginx = await startNginx(folder)
  const minio = await startMinio(folder)
  const headers = { authorization: `Bearer ${apiKeyOf(dataDir)}` }
  const base = `http://127.0.0.1:${PORT}/v1/storage/buckets`
  const svc: Peer = { name: "svc", url: `${base}/${BUCKET}/objects`, headers }
  const peer: Peer = { name: "nginx", url: `http://127.0.0.1:${NGINX_PORT}`, headers: {} }
  try {
    await fetch(base, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ name: BUCKET }),
    })
    await fill(svc)
    if (nginx) await fill(peer)
    for (const one of cases) {
      const name = `${one.what}, ${one.connections} connections`
      const ours = await one.run(svc)
      tell({ [name]: describe(one, ours) })
      if (!nginx) continue
      const theirs = await one.run(peer)
      const ratio = ours.requestsPerSecond / theirs.requestsPerSecond
      tell({
        [`${name}, nginx`]: describe(one, theirs),
        [`${name}, of nginx`]: `${(ratio * 100).toFixed(1)} %`,
      })
    }
    await presignedFigures(tell, await ownServer(apiKeyOf(dataDir)), minio?.server, SECONDS)
    if (STREAM_CLIENTS === 0) return
    const { before, most } = await memoryWhileStreaming(svc, pid)
    const what = `memory, ${STREAM_CLIENTS} clients × 1 GiB up and down`
    tell({ [what]: `${before} MB before, ${most} MB at most` })
  } finally {
    nginx?.kill()
    minio?.process.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
