import assert from "node:assert/strict"
import { test } from "node:test"
import { zipOf } from "../../services/serving/testing/zip.ts"
import { uniqueName } from "../../testing/platform.ts"
import {
  echo,
  endlessly,
  grow,
  leave,
  readOnce,
  trap,
  wasmOf,
  when,
  write,
  writeBack,
  writeEnvironment,
  writeText,
} from "./testing/wasm.ts"
import { deploy, functionWorld, invoke, printed } from "./testing/world.ts"

const LOG = "careful\n"

test("a WebAssembly command reads the payload, writes the result and logs, in a fresh instance each time", async t => {
  const world = await functionWorld(t)
  const code = wasmOf([...writeText(2, LOG.length), ...echo], LOG)
  const { id, runtime_version } = await deploy(world, code, { runtime: "wasm" })
  assert.equal(runtime_version, "wasip1")
  const large = { text: "ä".repeat(300_000) }
  assert.deepEqual((await invoke(world, id, large)).result, large)
  const { result, cold_start } = await invoke(world, id, { n: 1 })
  assert.deepEqual([result, cold_start], [{ n: 1 }, false])
  assert.deepEqual(await printed(world, id), ["stderr careful", "stderr careful"])

  const { id: words } = await deploy(world, wasmOf(writeText(1, LOG.length), LOG), { runtime: "wasm" })
  assert.equal((await invoke(world, words)).result, LOG)
  const { id: nothing } = await deploy(world, wasmOf([]), { runtime: "wasm" })
  assert.equal((await invoke(world, nothing)).result, null)
})

test("a module that traps, fails, never ends or takes too much memory is told as what it is", async t => {
  const world = await functionWorld(t)
  const at = '{"how":"'.length
  const code = wasmOf([
    ...readOnce,
    ...when(at, "t", trap),
    ...when(at, "f", leave(3)),
    ...when(at, "e", endlessly),
    ...when(at, "g", grow),
    // What lies outside its memory it cannot have written.
    ...when(at, "o", write(1, -16, [0x41, 64])),
    ...writeBack,
  ])
  const { id } = await deploy(world, code, { runtime: "wasm", timeout_seconds: 15, vcpus: 1 })
  const told = async (how: string) => {
    const { status, error } = await invoke(world, id, { how })
    return [status, error?.type, error?.message]
  }
  assert.deepEqual(await told("trap"), ["error", "RuntimeError", "unreachable"])
  assert.deepEqual(await told("fail"), ["error", "Crash", "the module ended with code 3"])
  const [status, type, message] = await told("endless")
  assert.deepEqual([status, type], ["timeout", "Timeout"])
  assert.match(message ?? "", /longer than 15 s/)
  assert.deepEqual((await told("grow")).slice(0, 2), ["error", "OutOfMemory"])
  assert.deepEqual((await invoke(world, id, { how: "outside" })).result, { how: "outside" })
})

test("behind its URL a module is a CGI program, and a header cannot set its proxy", async t => {
  const world = await functionWorld(t)
  const head = "Status: 418 I'm a teapot\r\nContent-Type: text/x\r\nX-Tea: green\r\n\r\n"
  const code = wasmOf([...writeText(1, head.length), ...writeEnvironment], head)
  const { id, name } = await deploy(world, code, { runtime: "wasm", env: { MINE: "yes" } })
  const reply = await world.platform.request(`/v1/functions/${id}/http/a%20b/c?x=1&y`, {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${world.secret}`, "content-type": "text/plain" },
      ...{ "x-mine": "1", proxy: "http://evil.example" },
    },
    body: "hello",
  })
  assert.deepEqual(
    [reply.status, reply.headers.get("x-tea"), reply.headers.get("content-type")],
    [418, "green", "text/x"],
  )
  const seen = Object.fromEntries(
    (await reply.text()).split("\0").map(line => [line.split("=", 1)[0], line.replace(/^[^=]*=/, "")]),
  )
  const { REQUEST_METHOD, PATH_INFO, QUERY_STRING, CONTENT_TYPE, CONTENT_LENGTH, HTTP_X_MINE } = seen
  assert.deepEqual(
    [REQUEST_METHOD, PATH_INFO, QUERY_STRING, CONTENT_TYPE, CONTENT_LENGTH, HTTP_X_MINE],
    ["POST", "/a b/c", "x=1&y", "text/plain", "5", "1"],
  )
  assert.deepEqual([seen.GATEWAY_INTERFACE, seen.MINE, seen.SVC_FUNCTION_NAME], ["CGI/1.1", "yes", name])
  assert.deepEqual([seen.HTTP_PROXY, seen.HTTP_AUTHORIZATION], [undefined, undefined])
  const { id: mute } = await deploy(world, wasmOf(echo), { runtime: "wasm" })
  const refused = await world.platform.request(`/v1/functions/${mute}/http/`, {
    ...{ method: "POST", headers: { authorization: `Bearer ${world.secret}` }, body: "no header" },
  })
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { code: string }).code],
    [502, "function_failed"],
  )
})

test("a module comes in base64, in a zip or from a bucket, and what is none is refused", async t => {
  const world = await functionWorld(t)
  const { svc } = world
  const code = wasmOf(echo)
  const bytes = Buffer.from(code, "base64")
  await svc.storage.createBucket({ name: "code" })
  await svc.storage.putObject({ bucket: "code", key: "echo.wasm" }, { body: new Uint8Array(bytes) })
  const create = (input: object) =>
    svc.functions.create({ name: uniqueName(), runtime: "wasm", ...input } as never)
  const storage = { bucket: "code", key: "echo.wasm" }
  const code_zip = zipOf([{ path: "index.wasm", content: bytes }]).toString("base64")
  const made = [await create({ code }), await create({ code_zip }), await create({ storage })]
  assert.equal(new Set(made.map(({ code_sha256 }) => code_sha256)).size, 1)
  assert.deepEqual((await invoke(world, made[2]?.id ?? "", { a: 1 })).result, { a: 1 })

  const refused = { code: "invalid_function_code", status: 400 }
  await assert.rejects(create({ code: "(module)" }), refused)
  await assert.rejects(create({ code: Buffer.from("#!/bin/sh").toString("base64") }), refused)
  await assert.rejects(create({ code, concurrency: 2 }), { code: "invalid_parameter", status: 400 })
  for (const [broken, reason] of [
    [wasmOf(echo, "", "env"), /^it imports env.fd_read/],
    [Buffer.from("\0asm and nothing else").toString("base64"), /WebAssembly/],
  ] as const) {
    const { id } = await deploy(world, broken, { runtime: "wasm" })
    const { status, error } = await invoke(world, id)
    assert.equal(status, "error")
    assert.match(error?.message ?? "", reason)
  }
})
