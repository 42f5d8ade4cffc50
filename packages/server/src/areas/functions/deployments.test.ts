import assert from "node:assert/strict"
import { test } from "node:test"
import { zipOf } from "../../services/serving/testing/zip.ts"
import { uniqueName } from "../../testing/platform.ts"
import { deploy, functionWorld, invoke } from "./testing/world.ts"

const MAIN = 'import { two } from "./lib/two.js"; export const handler = () => two'
const FILES = { "index.mjs": MAIN, "lib/two.js": "export const two = 2" }
const zip = () => zipOf(Object.entries(FILES).map(([path, content]) => ({ path, content })))

test("code comes as text, as files, as a zip and from a bucket, and the same files have the same digest", async t => {
  const { svc, ...world } = await functionWorld(t)
  const name = uniqueName
  const byFiles = await svc.functions.create({ name: name(), runtime: "nodejs", files: FILES })
  const byZip = await svc.functions.create({
    name: name(),
    runtime: "nodejs",
    code_zip: zip().toString("base64"),
  })
  await svc.storage.createBucket({ name: "code" })
  await svc.storage.putObject({ bucket: "code", key: "two.zip" }, { body: new Uint8Array(zip()) })
  const storage = { bucket: "code", key: "two.zip" }
  const byBucket = await svc.functions.create({ name: name(), runtime: "nodejs", storage })
  assert.equal(byFiles.code_sha256, byZip.code_sha256)
  assert.equal(byFiles.code_sha256, byBucket.code_sha256)
  assert.equal(byFiles.code_size_bytes, Object.values(FILES).join("").length)
  for (const { id } of [byFiles, byZip, byBucket])
    assert.equal((await invoke({ svc, ...world }, id)).result, 2)
})

test("code that is missing, doubled, damaged or leaves its folder is refused with the reason", async t => {
  const { svc } = await functionWorld(t)
  const create = (input: object) =>
    svc.functions.create({ name: uniqueName(), runtime: "nodejs", ...input } as never)
  const refused = (input: object, message: RegExp, code = "invalid_function_code", status = 400) =>
    assert.rejects(create(input), { code, status, message })
  await refused({}, /code/, "missing_parameter")
  await refused({ code: "x", files: FILES }, /code and files/)
  await refused({ code_zip: "not base64!" }, /base64/)
  await refused(
    { code_zip: Buffer.from("PK nothing of the kind, though long enough").toString("base64") },
    /no zip/,
  )
  const out = zipOf([{ path: "../../etc/cron.d/x", content: "x" }]).toString("base64")
  await refused({ code_zip: out }, /not allowed/)
  const link = zipOf([{ path: "a", content: "/etc/passwd", mode: 0o120777 }]).toString("base64")
  await refused({ code_zip: link }, /regular/)
  const bomb = zipOf([{ path: "a", content: "0".repeat(65 * 2 ** 20) }]).toString("base64")
  assert.ok(bomb.length < 200_000)
  await refused({ code_zip: bomb }, /unpacks to more/)
  await refused({ files: { "a/../../b": "x" } }, /not allowed|not valid/)
  await refused({ files: { a: "x", "a/b": "x" } }, /file and a folder/)
  await refused({ files: {} }, /no file/)
  await refused({ storage: { bucket: "none", key: "x" } }, /none/, "bucket_not_found", 404)
  await svc.storage.createBucket({ name: "code" })
  await refused({ storage: { bucket: "code", key: "x" } }, /x/, "object_not_found", 404)
  assert.equal((await svc.functions.list({})).total, 0)
})

test("a key that may not read buckets cannot have code read from one", async t => {
  const { platform } = await functionWorld(t)
  const svc = await platform.client("acme", "functions:deploy")
  const storage = { bucket: "code", key: "x" }
  await assert.rejects(svc.functions.create({ name: "a", runtime: "nodejs", storage }), {
    ...{ code: "missing_scope", status: 403 },
  })
})

test("a runtime that nobody knows is refused, and one with a version is the language that is here", async t => {
  const { svc } = await functionWorld(t)
  const create = (runtime: string, rest = {}) =>
    svc.functions.create({ name: uniqueName(), runtime, ...rest })
  await assert.rejects(create("cobol", { code: "x" }), { code: "invalid_parameter", status: 400 })
  await assert.rejects(create("nodejs", { image: "nginx" }), { code: "invalid_parameter", status: 400 })
  const { runtime, runtime_version } = await create("nodejs20", { code: "export const handler = () => 1" })
  assert.deepEqual([runtime, runtime_version], ["nodejs20", `nodejs${process.versions.node}`])
})

test("an installation where nothing can run workloads says so at deployment", async t => {
  const { svc } = await functionWorld(t, { env: { SVC_MODE: "production" } })
  await assert.rejects(svc.functions.create({ name: "a", runtime: "nodejs", code: "x" }), {
    ...{ code: "not_implemented", status: 501 },
  })
})

test("a name is taken in its project, is no id and no word of a path, and is free again after a rename", async t => {
  const world = await functionWorld(t)
  const code = "export const handler = () => 1"
  const { id } = await deploy(world, code, { name: "one" })
  const taken = { code: "name_taken", status: 409 }
  await assert.rejects(deploy(world, code, { name: "one" }), taken)
  for (const name of ["public", "0198b5c4-0000-7000-8000-000000000000"])
    await assert.rejects(deploy(world, code, { name }), { code: "invalid_name", status: 400 })
  const { id: other } = await deploy(world, code, { name: "two" })
  await assert.rejects(world.svc.functions.update({ id: other, name: "one" }), taken)
  assert.equal((await world.svc.functions.update({ id: "one", name: "uno" })).id, id)
  assert.equal((await world.svc.functions.update({ id: other, name: "one" })).name, "one")
  assert.equal((await invoke(world, "uno")).result, 1)
})

test("an environment that is too large is refused", async t => {
  const world = await functionWorld(t)
  const env = Object.fromEntries(Array.from({ length: 3 }, (_, at) => [`A${at}`, "x".repeat(30_000)]))
  await assert.rejects(deploy(world, "x", { env }), { code: "invalid_parameter", message: /env/ })
})

test("what a redeployment leaves out stays", async t => {
  const world = await functionWorld(t)
  const { id } = await deploy(world, "export const handler = () => process.env.A", {
    ...{ env: { A: "1" }, memory_mb: 192, timeout_seconds: 7, description: "d", labels: { team: "a" } },
  })
  const { version, memory_mb, timeout_seconds, env_names, labels, description } =
    await world.svc.functions.update({
      ...{ id, vcpus: 0.5 },
    })
  assert.deepEqual([version, memory_mb, timeout_seconds, env_names], [2, 192, 7, ["A"]])
  assert.deepEqual([labels, description], [{ team: "a" }, "d"])
  assert.equal((await invoke(world, id)).result, "1")
})
