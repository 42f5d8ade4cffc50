/** What was told to be stored is there, whole, after a kill at any moment. */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { killPostgres, readFirstRun, type SvcProcess, spawnSvc } from "../../testing/process.ts"
import { bytesOf } from "./testing/world.ts"

const WRITERS = 6
const TOLD_PER_ROUND = 60
const ROUNDS = 3
/** Small enough to end between two kills, and large enough to be torn. */
const SIZES = [0, 10, 4096, 300_000, 3_000_000]

const md5 = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("hex")

const connect = async (svc: SvcProcess) => {
  const baseUrl = await svc.ready
  return createSvc({ baseUrl, retries: 0, apiKey: readFirstRun(svc.dataDir).api_key })
}

/** Writes on all sides until the kill; gives the ETags that were told, by key. */
const writeUntilKilled = async (svc: SvcProcess, round: number): Promise<Map<string, string>> => {
  const { storage } = await connect(svc)
  const told = new Map<string, string>()
  let isKilled = false
  const killWhenEnough = () => {
    if (isKilled || told.size < TOLD_PER_ROUND) return
    isKilled = true
    svc.signal("SIGKILL")
    if (round % 2 === 0) killPostgres(svc.dataDir)
  }
  const write = async (writer: number) => {
    for (let n = 0; ; n++) {
      // Some overwrite what is there, and one that overwrites must not lose the one before by dying.
      const key = `${writer}/${n % 20}`
      const body = bytesOf(SIZES[(n + writer) % SIZES.length] ?? 0, round * 1000 + writer * 100 + n)
      try {
        const { etag } = await storage.putObject({ bucket: "kept", key }, { body })
        told.set(`${round}:${writer}:${n}`, key)
        latest.set(key, { told: etag, tried: [] })
        killWhenEnough()
      } catch {
        latest.set(key, { told: latest.get(key)?.told, tried: [md5(body)] })
        return
      }
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  assert.ok(isKilled, "the writers stopped before the kill")
  await svc.exited
  return told
}

/** What each key must hold: what was told last, or what was being written when the platform died. */
const latest = new Map<string, { readonly told: string | undefined; readonly tried: readonly string[] }>()

test("every object that was told to be stored is there and whole after a kill -9", async t => {
  let svc = spawnSvc(t)
  await (await connect(svc)).storage.createBucket({ name: "kept" })
  for (let round = 0; round < ROUNDS; round++) {
    await writeUntilKilled(svc, round)
    svc = spawnSvc(t, { dataDir: svc.dataDir })
    const { storage } = await connect(svc)
    for (const [key, { told, tried }] of latest) {
      if (told === undefined && tried.length > 0) {
        await storage.deleteObject({ bucket: "kept", key })
        latest.delete(key)
        continue
      }
      const response = await storage.getObject({ bucket: "kept", key })
      const found = md5(new Uint8Array(await response.arrayBuffer()))
      assert.ok([told, ...tried].includes(found), `${key} holds neither what was told nor what was tried`)
      assert.equal(response.headers.get("etag"), `"${found}"`)
      latest.set(key, { told: found, tried: [] })
    }
    const { objects, size_bytes } = await storage.usage()
    const { data } = await storage.listObjects({ bucket: "kept", limit: 1000 })
    assert.deepEqual([objects, size_bytes], [data.length, data.reduce((sum, { size }) => sum + size, 0)])
  }
})
