/** What a function cannot do to its host, its neighbours and its own record. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { deploy, functionWorld, invoke, printed } from "./testing/world.ts"

test("a function that needs more memory than it has ends as OutOfMemory, and the next call works", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `const kept = []
    export const handler = ({ mb = 0 }) => {
      for (let i = 0; i < mb; i++) kept.push(Buffer.alloc(1048576, 1))
      return kept.length
    }`,
    { vcpus: 1 },
  )
  const { status, error } = await invoke(world, id, { mb: 1_000 })
  assert.deepEqual([status, error?.type], ["error", "OutOfMemory"])
  assert.match(error?.message ?? "", /128 MB/)
  const again = await invoke(world, id)
  assert.deepEqual([again.result, again.cold_start], [0, true])
  assert.ok((await printed(world, id)).some(line => line.startsWith("platform OutOfMemory")))
})

test("a heap of JavaScript values that is full is OutOfMemory too", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    "export const handler = () => { const all = []; for (;;) all.push({ all, at: all.length + 0.5 }) }",
    { vcpus: 1, memory_mb: 256, timeout_seconds: 300 },
  )
  assert.equal((await invoke(world, id)).error?.type, "OutOfMemory")
})

test("a small function makes far more garbage than it has memory, in values and in buffers, and goes on", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `const ring = []
    export const handler = async () => {
      for (let i = 0; i < 30_000; i++) {
        ring[i % 2_000] = Array.from({ length: 100 }, (_, n) => ({ n, i }))
        if (i % 100 === 0) await new Response(Buffer.alloc(65_536, 1)).arrayBuffer()
      }
      return ring.length
    }`,
    { vcpus: 1, memory_mb: 128, timeout_seconds: 300 },
  )
  for (let call = 0; call < 3; call++) {
    const { result, error } = await invoke(world, id)
    assert.deepEqual([result, error], [2_000, null])
  }
})

test("a function that never ends is a timeout, whether it waits, computes or ignores signals", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `process.on("SIGTERM", () => {})
    export const handler = ({ how }) => {
      if (how === "wait") return new Promise(() => {})
      while (how === "compute") {}
      return "done"
    }`,
    // Enough for a busy machine to answer at once.
    { timeout_seconds: 10 },
  )
  for (const how of ["wait", "compute"]) {
    const { status, error } = await invoke(world, id, { how })
    assert.deepEqual([status, error?.type], ["timeout", "Timeout"])
    // A workload that uses all its processor time does not always tell so at once.
    assert.match(
      error?.message ?? "",
      /^the function took longer than \d+ s(, in which it used [\d.]+ s of 0\.25 vCPUs)?$/,
    )
  }
  const { result, cold_start } = await invoke(world, id, {})
  assert.deepEqual([result, cold_start], ["done", true])
  const { data } = await world.svc.functions.invocations({ id, status: "timeout" })
  assert.equal(data.length, 2)
})

test("a process that ends itself is a Crash, with how it ended", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `export const handler = ({ how }) => {
      if (how === "exit") process.exit(3)
      if (how === "abort") process.abort()
      if (how === "throw") return new Promise(() => setTimeout(() => { throw new TypeError("late") }, 1))
      return "alive"
    }`,
  )
  const told = async (how: string) => {
    const { status, error } = await invoke(world, id, { how })
    return [status, error?.type, error?.message]
  }
  assert.deepEqual(await told("exit"), ["error", "Crash", "the process ended with code 3"])
  assert.match(String((await told("abort"))[2]), /^the process was ended by SIG(ABRT|IOT)$/)
  assert.deepEqual(await told("throw"), ["error", "TypeError", "late"])
  assert.equal((await invoke(world, id, {})).result, "alive")
})

test("code that writes to the platform's channel breaks its own instance and nothing else", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `import { writeSync } from "node:fs"
    export const handler = ({ text, times = 1 }) => {
      writeSync(4, text.repeat(times))
      return new Promise(() => {})
    }`,
    { timeout_seconds: 60 },
  )
  const garbage = [
    { text: "garbage\n" },
    { text: '{"n":"guess","t":"done"}\n' },
    { text: "x", times: 12_000_000 },
  ]
  for (const payload of garbage) {
    const { status, error } = await invoke(world, id, payload)
    assert.deepEqual([status, error?.type], ["error", "Crash"])
  }
  assert.equal((await world.svc.functions.get({ id })).status, "ACTIVE")
})

test("output without end is bounded in the log and in memory", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `import { execFileSync } from "node:child_process"
    export const handler = ({ how }) => {
      if (how === "lines") for (let i = 0; i < 20_000; i++) console.log("line", i)
      if (how === "long") process.stdout.write("x".repeat(5_000_000))
      if (how === "child") execFileSync("/bin/sh", ["-c", "head -c 3000000 /dev/zero | tr '\\\\0' 'a' >&2"], { stdio: "inherit" })
      return how
    }`,
    { vcpus: 1, timeout_seconds: 300 },
  )
  for (const how of ["lines", "long", "child"]) assert.equal((await invoke(world, id, { how })).result, how)
  const { data } = await world.svc.functions.logs({ id, limit: 1_000, stream: "stdout" })
  assert.ok(data.length <= 1_000)
  assert.ok(data.reduce((bytes, { message }) => bytes + message.length, 0) <= 2 * 65_536 + 8_192)
})

test("a function sees neither the platform's secrets nor its neighbours, and cannot change its own code", async t => {
  const world = await functionWorld(t)
  process.env.SVC_PROBE_SECRET = "for nobody"
  t.after(() => delete process.env.SVC_PROBE_SECRET)
  const { id } = await deploy(
    world,
    `import { readdirSync, readFileSync, writeFileSync } from "node:fs"
    const attempt = act => { try { return act() } catch (error) { return error.code } }
    export const handler = () => ({
      env: Object.keys(process.env).sort(),
      mine: process.env.MINE,
      code: attempt(() => writeFileSync("/var/task/index.js", "")),
      harness: attempt(() => writeFileSync("/opt/svc/harness/node.mjs", "")),
      processes: readdirSync("/proc").filter(name => /^\\\\d+$/.test(name)).map(pid =>
        attempt(() => readFileSync("/proc/" + pid + "/environ", "utf8"))).join(" ").includes("for nobody"),
      data: attempt(() => readdirSync(${JSON.stringify(world.platform.config.dataDir)})),
      root: attempt(() => readdirSync("/root")),
      uid: process.getuid(),
    })`,
    { env: { MINE: "only mine" } },
  )
  const { result, error } = await invoke(world, id)
  assert.equal(error, null)
  const seen = result as Record<string, unknown>
  assert.equal(seen.mine, "only mine")
  assert.ok(!(seen.env as string[]).some(name => name.startsWith("SVC_")))
  assert.deepEqual([seen.code, seen.harness], ["EROFS", "EROFS"])
  assert.deepEqual([seen.processes, seen.data], [false, "ENOENT"])
  assert.notEqual(seen.uid, 0)
  const { env_names, ...record } = await world.svc.functions.get({ id })
  assert.deepEqual(env_names, ["MINE"])
  assert.ok(!JSON.stringify(record).includes("only mine"))
  const { rows } = await world.platform.database.pool.query("SELECT env FROM functions.versions")
  assert.ok(rows.every(({ env }) => !String(env).includes("only mine")))
})

test("a result that is too large, or no JSON, is an error of the function", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(
    world,
    `export const handler = ({ how }) => how === "large" ? "x".repeat(11_000_000) : how === "big" ? 1n : undefined`,
    { memory_mb: 256, vcpus: 1 },
  )
  assert.equal((await invoke(world, id, { how: "large" })).error?.type, "ResponseTooLarge")
  assert.equal((await invoke(world, id, { how: "big" })).error?.type, "TypeError")
  assert.deepEqual((await invoke(world, id)).result, null)
})

test("a payload of more than 10 MiB is refused with a code of its own", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export const handler = e => e.text.length", {
    memory_mb: 256,
    vcpus: 1,
  })
  const text = "x".repeat(10 * 2 ** 20)
  await assert.rejects(invoke(world, id, { text }), { code: "function_payload_too_large", status: 400 })
  const { result } = await invoke(world, id, { text: text.slice(100) })
  assert.equal(result, text.length - 100)
})
