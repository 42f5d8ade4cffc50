/** Functions that are programs of images. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { withoutBusybox } from "../../ports/runtime/testing/busybox.ts"
import { busyboxLayer } from "../../services/images/testing/busybox.ts"
import { startRegistry } from "../../services/images/testing/registry.ts"
import { tarOf } from "../../services/images/testing/tar.ts"
import { eventually } from "../../testing/eventually.ts"
import { uniqueName } from "../../testing/platform.ts"
import { functionWorld, invoke, printed } from "./testing/world.ts"

/** Answers one request, as much of HTTP as the tests need. */
const HANDLER = `#!/bin/sh
# Whoever only looks whether anybody listens asks nothing.
read -r method target version || exit 0
length=0
while read -r name value; do
  value=$(echo "$value" | tr -d '\\r')
  case "$name" in
    [Cc]ontent-[Ll]ength:) length=$value ;;
    [Xx]-[Mm]ine:) mine=$value ;;
  esac
  [ "$name" = "$(printf '\\r')" ] && break
done
body=$(head -c "$length")
echo "$method $target" >&2
reply() { printf 'HTTP/1.1 %s\\r\\nContent-Type: %s\\r\\nX-From: image\\r\\n\\r\\n' "$1" "$2"; }
case "$target" in
  /teapot*) reply "418 Teapot" text/plain; echo "$method $target $mine $body" ;;
  /events) reply "200 OK" text/event-stream; echo "data: first"; until [ -e /tmp/go ]; do sleep 0.02; done; echo "data: last" ;;
  /go) touch /tmp/go; reply "200 OK" text/plain ;;
  /garbage) echo "this is no HTTP" ;;
  *) case "$body" in
      *fail*) reply "500 Oh no" text/plain; echo "cannot" ;;
      *wait*) sleep 1000 ;;
      *exit*) kill -9 -1 ;;
      *) reply "200 OK" application/json; echo "{\\"got\\":$body,\\"env\\":\\"$FLAVOUR $MINE $PORT\\",\\"at\\":\\"$(pwd)\\",\\"as\\":\\"$(id -u)\\"}" ;;
    esac ;;
esac
`
const skip = withoutBusybox

const containerWorld = async (t: Parameters<typeof functionWorld>[0]) => {
  const registry = await startRegistry(t)
  const layers = [
    await busyboxLayer(),
    tarOf({ path: "app", type: "Directory" }, { path: "app/handle", content: HANDLER, mode: 0o755 }),
  ]
  const config = {
    ...{ Env: ["PATH=/bin", "FLAVOUR=plain"], WorkingDir: "/app" },
    ...{ Entrypoint: ["/bin/sh", "-c"], Cmd: ["echo begun; exec nc -ll -p $PORT -e /app/handle"] },
  }
  const world = await functionWorld(t, {
    env: { SVC_OUTBOUND_ALLOW: "127.0.0.1", SVC_IMAGE_REGISTRIES: "any" },
  })
  const create = (image: string, rest: object = {}) =>
    world.svc.functions.create({ name: uniqueName(), runtime: "container", image, ...rest })
  const get = (id: string, path: string, init: RequestInit = {}) =>
    world.platform.request(`/v1/functions/${id}/http${path}`, {
      ...init,
      headers: { authorization: `Bearer ${world.secret}`, "x-mine": "yes" },
    })
  return { world, registry, layers, config, create, get, image: `${registry.host}/app` }
}

test("a program of an image is invoked over HTTP, with the image's settings, and its output is the log", {
  skip,
}, async t => {
  const { world, registry, layers, config, create, get, image } = await containerWorld(t)
  const digest = registry.push("app", "latest", layers, { config })
  const { id, ...made } = await create(image, { env: { MINE: "own" }, concurrency: 5, timeout_seconds: 300 })
  assert.deepEqual([made.runtime, made.image, made.image_digest], ["container", image, null])
  const first = await invoke(world, id, { n: 1 })
  assert.deepEqual(first.result, { got: { n: 1 }, env: "plain own 8080", at: "/app", as: "0" })
  assert.equal((await invoke(world, id, { n: 2 })).cold_start, false)
  assert.deepEqual(await printed(world, id), ["stdout begun", "stderr POST /", "stderr POST /"])
  assert.equal((await world.svc.functions.get({ id })).image_digest, digest)

  const teapot = await get(id, "/teapot/a%2Fb?x=1", { method: "PUT", body: "hello" })
  assert.deepEqual([teapot.status, teapot.headers.get("x-from")], [418, "image"])
  assert.equal(await teapot.text(), "PUT /teapot/a%2Fb?x=1 yes hello\n")
  const events = await get(id, "/events")
  const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.equal((await reader?.read())?.value, "data: first\n")
  await (await get(id, "/go")).text()
  assert.equal((await reader?.read())?.value, "data: last\n")
  assert.equal((await get(id, "/garbage")).status, 502)

  const failed = await invoke(world, id, { how: "fail" })
  assert.deepEqual(
    [failed.status, failed.error?.type, failed.error?.message],
    ["error", "HttpError", "the program answered 500: cannot\n"],
  )
  const ended = await invoke(world, id, { how: "exit" })
  assert.deepEqual([ended.status, ended.error?.type], ["error", "Crash"])
  assert.match(ended.error?.message ?? "", /^the process was ended by SIGKILL$/)
  assert.equal((await invoke(world, id, { n: 3 })).status, "success")
})

test("a version stays what its tag stood for, and runs out of time and of the registry with the reason", {
  skip,
}, async t => {
  const { world, registry, layers, config, create, image } = await containerWorld(t)
  const first = registry.push("app", "latest", layers, { config })
  const { id } = await create(image, { timeout_seconds: 300 })
  const flavour = async () => {
    const { result } = await invoke(world, id)
    return (result as { env: string }).env.split(" ")[0]
  }
  assert.equal(await flavour(), "plain")
  const { id: brief } = await create(image, { timeout_seconds: 3 })
  const { status, error } = await invoke(world, brief, { how: "wait" })
  assert.deepEqual([status, error?.type], ["timeout", "Timeout"])
  registry.push("app", "latest", layers, { config: { ...config, Env: ["PATH=/bin", "FLAVOUR=new"] } })
  await world.platform.clock.advance(600_000)
  assert.equal(await flavour(), "plain")
  const updated = await world.svc.functions.update({ id, memory_mb: 192 })
  assert.deepEqual([updated.image_digest, await flavour()], [first, "plain"])
  await world.svc.functions.update({ id, image })
  assert.equal(await flavour(), "new")

  const { id: none } = await create(`${registry.host}/none`)
  const answer = await invoke(world, none)
  assert.deepEqual([answer.status, answer.error?.type], ["error", "InitError"])
  const failed = await eventually("it has failed", async () => {
    const found = await world.svc.functions.get({ id: none })
    return found.status === "FAILED" && found
  })
  assert.match(failed.status_reason ?? "", /none/)
  registry.push("dies", "latest", layers, { config: { ...config, Cmd: ["echo no >&2; exit 7"] } })
  const { id: dies } = await create(`${registry.host}/dies`)
  assert.equal((await invoke(world, dies)).error?.message, "the process ended with code 7")
  assert.deepEqual(await printed(world, dies), ["stderr no"])
})

test("a container has an image and no code, and others have code and no image", async t => {
  const { svc } = await functionWorld(t, { env: { SVC_IMAGE_REGISTRIES: "any" } })
  const create = (input: object) => svc.functions.create({ name: uniqueName(), ...input } as never)
  const container = { runtime: "container", image: "debian:12" }
  const wrong = { code: "invalid_parameter", status: 400 }
  await assert.rejects(create({ ...container, image: "a b" }), wrong)
  await assert.rejects(create({ ...container, code: "x" }), wrong)
  await assert.rejects(create({ runtime: "container" }), { code: "missing_parameter", message: /image/ })
  await assert.rejects(create({ runtime: "nodejs", image: "debian:12" }), wrong)
  const { id, image } = (await create(container)) as { id: string; image: string }
  assert.equal(image, "debian:12")
  const missing = { code: "missing_parameter", message: /code/ }
  await assert.rejects(svc.functions.update({ id, runtime: "nodejs" }), missing)
  const changed = await svc.functions.update({ id, runtime: "nodejs", code: "export default () => 1" })
  assert.equal(changed.image, null)
  await assert.rejects(svc.functions.update({ id, runtime: "container" }), { code: "missing_parameter" })
})
