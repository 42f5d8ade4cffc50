/** A success that was told outlives every process that could have forgotten it. */

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { createSvc, type Svc } from "@svc/sdk"
import type { FirstRun } from "./core/first-run.ts"
import { eventually } from "./testing/eventually.ts"
import { killPostgres, readFirstRun, type SvcProcess, spawnSvc } from "./testing/process.ts"

const WRITERS = 8
/** Told successes after which a round ends. */
const ENTRIES_PER_ROUND = 200
const KEYS_PER_ROUND = 8

interface Told {
  /** Key → value. */
  readonly entries: Map<string, string>
  readonly secrets: string[]
}

const connect = (baseUrl: string, options: Parameters<typeof createSvc>[0]): Svc =>
  createSvc({ baseUrl, retries: 0, ...options })

/** A client of the administrator's console session: only a signed-in person makes keys. */
const signIn = async (baseUrl: string, { email, password }: FirstRun): Promise<Svc> => {
  const response = await fetch(`${baseUrl}/v1/account/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
  })
  assert.equal(response.status, 200)
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? ""
  return connect(baseUrl, { headers: { cookie, origin: baseUrl } })
}

/** Repeats an act until one fails because the platform is gone; notes only what was told to have succeeded. */
const repeat = async (act: (n: number) => Promise<void>): Promise<void> => {
  for (let n = 0; ; n++) {
    try {
      await act(n)
    } catch {
      return
    }
  }
}

/** Writes entries and makes keys on all sides until the kill, and gives what was told to be done. */
const writeUntil = async (svc: SvcProcess, round: number, kill: () => void): Promise<Told> => {
  const baseUrl = await svc.ready
  const made = readFirstRun(svc.dataDir)
  const { kv } = connect(baseUrl, { apiKey: made.api_key })
  const { keys } = await signIn(baseUrl, made)
  const told: Told = { entries: new Map(), secrets: [] }
  let isKilled = false

  const killWhenEnough = () => {
    if (isKilled || told.entries.size < ENTRIES_PER_ROUND || told.secrets.length < KEYS_PER_ROUND) return
    isKilled = true
    kill()
  }
  const write = (writer: number) =>
    repeat(async n => {
      const [key, value] = [`${round}:${writer}:${n}`, `value ${n} `.repeat(20)]
      const { ok } = await kv.set({ key, value })
      if (ok) told.entries.set(key, value)
      killWhenEnough()
    })
  const makeKeys = (maker: number) =>
    repeat(async n => {
      const name = `${round}:${maker}:${n}`
      const { secret } = await keys.create({ name, type: "secret", scopes: ["kv:read"] })
      told.secrets.push(String(secret))
      killWhenEnough()
    })
  await Promise.all([...Array.from({ length: WRITERS }, (_, n) => write(n)), makeKeys(1), makeKeys(2)])
  assert.ok(isKilled, "the writers stopped before the kill")
  await svc.exited
  return told
}

const kills: Readonly<Record<string, (svc: SvcProcess) => void>> = {
  "all its processes at once": svc => {
    svc.signal("SIGKILL")
    killPostgres(svc.dataDir)
  },
  "the platform alone, which leaves its database running": svc => svc.signal("SIGKILL"),
  "the database first": svc => {
    killPostgres(svc.dataDir)
    svc.signal("SIGKILL")
  },
}

test("every write and every key that was told to be made is there after a kill, whatever dies first", async t => {
  const told: Told = { entries: new Map(), secrets: [] }
  let svc = spawnSvc(t)
  for (const [round, [name, kill]] of Object.entries(kills).entries()) {
    const more = await writeUntil(svc, round, () => kill(svc))
    for (const [key, value] of more.entries) told.entries.set(key, value)
    told.secrets.push(...more.secrets)

    svc = spawnSvc(t, { dataDir: svc.dataDir })
    const baseUrl = await svc.ready
    const { kv } = connect(baseUrl, { apiKey: readFirstRun(svc.dataDir).api_key })
    for (const [key, value] of told.entries)
      assert.equal((await kv.get({ key })).value, value, `${name}: ${key}`)
    for (const apiKey of told.secrets) {
      assert.deepEqual((await connect(baseUrl, { apiKey }).identity.me()).scopes, ["kv:read"], name)
    }
  }
  assert.ok(told.entries.size >= 3 * ENTRIES_PER_ROUND)
})

test("a first start that is killed at any moment leaves what the next one completes", async t => {
  let svc = spawnSvc(t)
  const steps = ["postgres", "master.key", "first-run.json"]
  for (const step of steps) {
    await eventually(`${step} is there`, () => exists(join(svc.dataDir, step)))
    svc.signal("SIGKILL")
    killPostgres(svc.dataDir)
    await svc.exited
    svc = spawnSvc(t, { dataDir: svc.dataDir })
  }
  const baseUrl = await svc.ready
  const made = readFirstRun(svc.dataDir)
  assert.equal((await connect(baseUrl, { apiKey: made.api_key }).kv.set({ key: "a", value: 1 })).ok, true)
  assert.equal((await (await signIn(baseUrl, made)).organizations.list()).total, 1)
})

const exists = (path: string): boolean => {
  try {
    return readFileSync(path).length > 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EISDIR"
  }
}

test("a database that dies is started again by itself: 503 until then, and nothing is lost", async t => {
  const svc = spawnSvc(t)
  const baseUrl = await svc.ready
  const made = readFirstRun(svc.dataDir)
  const { kv } = connect(baseUrl, { apiKey: made.api_key })
  const person = await signIn(baseUrl, made)
  const readiness = async () => (await fetch(`${baseUrl}/health/ready`)).status
  const before = await person.projects.create({ name: "before" })

  for (const name of ["first", "second"]) {
    assert.equal(await readiness(), 200)
    killPostgres(svc.dataDir)
    await eventually("the platform says that it is not ready", async () => (await readiness()) === 503)
    assert.equal((await fetch(`${baseUrl}/health`)).status, 200)
    await eventually("the platform is ready again", async () => (await readiness()) === 200)
    assert.equal((await person.projects.get({ id: before.id })).name, "before")
    assert.equal((await person.projects.create({ name })).name, name)
    assert.equal((await kv.set({ key: name, value: 1 })).ok, true)
  }
  assert.deepEqual(await svc.stop(), { code: 0, signal: null })
})
