/** Sandboxes of images, from a registry that speaks the real protocol, and of templates. */

import assert from "node:assert/strict"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { Svc } from "@svc/sdk"
import { withoutBusybox } from "../../ports/runtime/testing/busybox.ts"
import { busyboxLayer } from "../../services/images/testing/busybox.ts"
import { startRegistry, type TestRegistry } from "../../services/images/testing/registry.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

const skip = withoutBusybox

interface World {
  readonly registry: TestRegistry
  readonly layer: Buffer
  readonly p: TestPlatform
  readonly svc: Svc
  readonly at: (name: string) => string
}
let world: World
const ends: (() => unknown)[] = []

before(async () => {
  if (skip) return
  const t = { after: (end: () => unknown) => void ends.push(end) }
  const [registry, layer] = await Promise.all([startRegistry(t), busyboxLayer()])
  const env = { SVC_OUTBOUND_ALLOW: "127.0.0.1", SVC_IMAGE_REGISTRIES: "any" }
  const p = await platform(t, { env })
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  world = { registry, layer, p, svc, at: name => `${registry.host}/${name}` }
})
after(async () => {
  for (const end of ends.reverse()) await end()
})

const output = async (id: string, command: string) =>
  (await world.svc.sandboxes.runCommand({ id, command })).stdout

test("a sandbox of an image runs its programs with its environment, where it says, and files go in and out", {
  skip,
}, async () => {
  const { registry, layer, svc, at } = world
  const config = { Env: ["PATH=/bin", "FLAVOUR=plain", "OVER=image"], WorkingDir: "/srv/app", User: "root" }
  const digest = registry.push("first", "1", [layer], { config })
  const made = await svc.sandboxes.create({ ...SMALL, template: at("first:1"), env: { OVER: "own" } })
  assert.deepEqual([made.status, made.template, made.image_digest], ["PROVISIONING", at("first:1"), null])
  const { id } = made
  const script = "cat /etc/motd; echo $FLAVOUR $OVER; pwd; id -un; busybox | head -n1 | cut -c1-7"
  assert.equal(await output(id, script), "an image\nplain own\n/srv/app\nuser\nBusyBox\n")
  const running = await svc.sandboxes.get({ id })
  assert.deepEqual([running.status, running.image_digest, running.cwd], ["RUNNING", digest, "/srv/app"])
  await svc.sandboxes.writeFiles({ id, files: [{ path: "/workspace/a/b", content: "mine" }] })
  assert.equal(await output(id, "cat /workspace/a/b; ls -d /usr/bin /usr"), "mine/usr\n")
  const outside = svc.sandboxes.writeFiles({ id, files: [{ path: "/etc/motd", content: "x" }] })
  await assert.rejects(outside, refusedAs("path_outside_guest_roots", 502))
})

test("the next sandbox of an image is at hand, and begins where the first one did", { skip }, async () => {
  const { registry, layer, svc, at } = world
  registry.push("warm", "1", [layer], { config: { WorkingDir: "/srv/app" } })
  const template = at("warm:1")
  await runningSandbox(svc, { template })
  const count = registry.requests.length
  // From what is unpacked; then one is kept ready.
  await runningSandbox(svc, { template })
  const warm = async () => {
    const { services } = await svc.identity.services()
    return services.find(({ name }) => name === "sandboxes")?.capabilities?.warm
  }
  // To ask for one after the other until one is at hand could take all room before that is.
  await eventually("one is at hand", warm, count => count === 1)
  const next = await svc.sandboxes.create({ ...SMALL, template })
  assert.deepEqual([next.status, next.cold_start, next.cwd], ["RUNNING", false, "/srv/app"])
  assert.equal(await output(next.id, "pwd; cat /etc/motd"), "/srv/app\nan image\n")
  const host = await runningSandbox(svc)
  assert.equal((await svc.sandboxes.get({ id: host })).cwd, "/workspace")
  assert.equal(await output(host, "test -e /etc/motd || echo none"), "none\n")
  assert.equal(registry.requests.length, count)
})

test("a template of the operator's is named by its file", { skip }, async () => {
  const { layer, p, svc } = world
  const templates = join(p.config.dataDir, "templates")
  await mkdir(templates)
  await writeFile(join(templates, "tools.tar"), layer)
  const id = await runningSandbox(svc, { template: "tools" })
  assert.equal(await output(id, "cat /etc/motd"), "an image\n")
})
