import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { after, before, describe, type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import fc from "fast-check"
import { PortError } from "../port-error.ts"
import { kvConformance } from "./conformance.ts"
import { openRedisKv } from "./drivers/redis/driver.ts"
import { createRealServer, type RealServer, serverProgram } from "./drivers/redis/testing/real-server.ts"
import { globMatcher } from "./glob.ts"
import type { KvPort } from "./port.ts"

const isUnavailable = (error: unknown): boolean => error instanceof PortError && error.kind === "unavailable"

/** Longer than a server on a busy machine takes for anything. */
const TIMEOUT_MS = 10_000

const openOn = async (
  t: TestContext,
  { url }: Pick<RealServer, "url">,
  timeoutMs = TIMEOUT_MS,
): Promise<KvPort> => {
  const kv = await openRedisKv({ url, timeoutMs })
  t.after(() => kv[Symbol.asyncDispose]())
  return kv
}

/** Waits for an outside process to get as far, for a minute at most. */
const untilHealthy = async (kv: KvPort): Promise<void> => {
  const deadline = Date.now() + 60_000
  for (let health = await kv.health(); !health.ok; health = await kv.health()) {
    assert.ok(Date.now() < deadline, `not healthy after a minute: ${health.reason}`)
    await delay(20)
  }
}

const text = (value: string) => ({ value, expiresAt: null })

const outageTests = (program: string): void => {
  const startServer = async (t: TestContext): Promise<RealServer> => {
    const server = await createRealServer(program, ["--appendonly", "yes"])
    t.after(() => server[Symbol.asyncDispose]())
    await server.start()
    return server
  }

  test("while the server is down every call is unavailable at once, and works once it is back", async t => {
    const server = await startServer(t)
    const kv = await openOn(t, server)
    const owner = randomUUID()
    await kv.set(owner, "a", text("1"), 1)
    await server.stop()
    const started = Date.now()
    await assert.rejects(async () => kv.get(owner, "a", 1), isUnavailable)
    await assert.rejects(kv.set(owner, "a", text("2"), 1), isUnavailable)
    await assert.rejects(kv.erase(owner), isUnavailable)
    assert.equal((await kv.health()).ok, false)
    assert.ok(Date.now() - started < TIMEOUT_MS)
    await server.start()
    await untilHealthy(kv)
    assert.equal((await kv.get(owner, "a", 1))?.value, "1")
  })

  test("a server that is down at the start is an area that waits, not a start that fails", async t => {
    const server = await startServer(t)
    await server.stop()
    const kv = await openOn(t, server, 3_000)
    await assert.rejects(async () => kv.get(randomUUID(), "a", 1), isUnavailable)
    await server.start()
    await untilHealthy(kv)
    assert.equal(await kv.get(randomUUID(), "a", 1), undefined)
  })

  test("a server that hangs makes a call unavailable in time, and may go on", async t => {
    const server = await startServer(t)
    const [kv, hasty] = [await openOn(t, server), await openOn(t, server, 200)]
    const owner = randomUUID()
    await kv.set(owner, "a", text("1"), 1)
    await untilHealthy(hasty)
    server.signal("SIGSTOP")
    try {
      await assert.rejects(async () => hasty.get(owner, "a", 1), isUnavailable)
    } finally {
      server.signal("SIGCONT")
    }
    await untilHealthy(hasty)
    assert.equal((await kv.get(owner, "a", 1))?.value, "1")
  })
}

const serverTests = (server: RealServer): void => {
  test("a server that forgot the script is given it again", async t => {
    const kv = await openOn(t, server)
    const owner = randomUUID()
    await kv.set(owner, "a", text("1"), 1)
    await server.command("SCRIPT", "FLUSH")
    assert.equal((await kv.set(owner, "a", text("2"), 1)).stored, true)
  })

  test("the server drops an expired entry by itself even if no sweep ever comes", async t => {
    const kv = await openOn(t, server)
    const owner = randomUUID()
    await kv.set(owner, "a", { value: "1", expiresAt: 61_000 }, 1_000)
    const leftMs = Number(await server.command("PTTL", `svc:kv:{${owner}}:entry:a`))
    assert.ok(leftMs > 60_000 && leftMs < 80_000)
  })

  test("health tells how durable the server is, or that the server does not say", async t => {
    const health = await (await openOn(t, server)).health()
    assert.ok(
      health.ok && health.detail.includes("appendonly no") && health.detail.includes("appendfsync everysec"),
    )
    await server.command("ACL", "SETUSER", "guest", "on", ">secret", "~*", "+@all", "-config")
    const guest = await openOn(t, { url: `redis://guest:secret@127.0.0.1:${server.port}` })
    assert.deepEqual(await guest.health(), { ok: true, detail: "the server does not tell how durable it is" })
  })

  test("a wrong password is told without telling the password", async t => {
    const kv = await openOn(t, { url: `redis://guest:wrong-secret@127.0.0.1:${server.port}` }, 200)
    const health = await kv.health()
    assert.ok(!health.ok && !health.reason.includes("wrong-secret"))
  })

  test("the glob grammar is the server's own", async () => {
    const pattern = fc.string({
      unit: fc.constantFrom("a", "b", "c", "*", "?", "[", "]", "^", "-", "\\"),
      maxLength: 8,
    })
    const keys = fc.sample(
      fc.string({ unit: fc.constantFrom("a", "b", "c", "*", "]", "-", "\\"), minLength: 1, maxLength: 4 }),
      300,
    )
    await server.command("FLUSHALL")
    await server.command("MSET", ...keys.flatMap(key => [key, "1"]))
    for (const tried of fc.sample(pattern, 300)) {
      const matched = (await server.command("KEYS", tried)) as string[]
      assert.deepEqual(
        matched.sort(),
        [...new Set(keys)].filter(globMatcher(tried)).sort(),
        JSON.stringify(tried),
      )
    }
  })
}

const testWith = async (program: string): Promise<void> => {
  const server = await createRealServer(program)
  const cluster = await createRealServer(program, ["--cluster-enabled", "yes"])
  const openEmptied = (on: RealServer) => async (t: TestContext) => {
    await on.command("FLUSHALL")
    return openOn(t, on)
  }
  before(async () => {
    await Promise.all([server.start(), cluster.start()])
    await cluster.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
    await using kv = await openRedisKv(cluster)
    await untilHealthy(kv)
  })
  after(() => Promise.all([server[Symbol.asyncDispose](), cluster[Symbol.asyncDispose]()]))

  kvConformance("Redis", openEmptied(server))
  // A node of a cluster refuses a command whose keys it might not have all.
  kvConformance("A Redis that is a cluster's node", openEmptied(cluster))
  describe("Redis beside the promises", () => serverTests(server))
  describe("Redis that goes away", () => outageTests(program))
}

if (serverProgram) await testWith(serverProgram)
else
  test("Redis keeps the promises of the key-value port", {
    skip: "neither valkey-server nor redis-server is installed",
  })
