/** Sandboxes of images, from a registry that speaks the real protocol, and of templates. */
import assert from "node:assert/strict"
import { mkdir, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { Svc } from "@svc/sdk"
import { busyboxLayer } from "../../core/images/testing/busybox.ts"
import { startRegistry, type TestRegistry } from "../../core/images/testing/registry.ts"
import { tarOf } from "../../core/images/testing/tar.ts"
import { withoutBusybox } from "../../ports/runtime/testing/busybox.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { eventually, refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

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

test("what cannot be pulled fails with the reason on record; what names nothing is refused at once", {
  skip,
}, async () => {
  const { registry, layer, svc, at } = world
  registry.push("climbing", "1", [tarOf({ path: "../../../../x", content: "x" })])
  registry.push("linked", "1", [layer, tarOf({ path: "proc", type: "SymbolicLink", linkpath: "/etc" })])
  const reasons = {
    "missing:1": /no such image/,
    "climbing:1": /leads out of the image/,
    "linked:1": /could not be started/,
  }
  for (const [name, reason] of Object.entries(reasons)) {
    const { id } = await svc.sandboxes.create({ ...SMALL, template: at(name) })
    // Who calls it waits for its start, and so for the failure.
    const use = svc.sandboxes.runCommand({ id, command: "true" })
    await assert.rejects(use, refusedAs("sandbox_not_running", 400), name)
    const { status, status_reason, stop_reason } = await svc.sandboxes.get({ id })
    assert.deepEqual([status, stop_reason], ["FAILED", "error"])
    assert.match(status_reason ?? "", reason)
  }
  const create = (template: string) => svc.sandboxes.create({ ...SMALL, template })
  for (const name of ["No Such", "http://example.com/x", "10.0.0.1/x", "../../etc", "a:b:c"])
    await assert.rejects(create(name), refusedAs("invalid_parameter", 400), name)
})

test("a sandbox that is deleted or stopped while its image comes does not start", { skip }, async () => {
  const { registry, layer, p, svc, at } = world
  registry.push("slow", "1", [layer, tarOf({ path: "slow" })])
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  registry.beforeBlob = () => held
  const shape = { kind: "persistent", vcpus: 1, memory_mb: 512, disk_gb: 10 } as const
  const create = () => svc.sandboxes.create({ ...shape, template: at("slow:1") })
  const [deleted, stopped, kept] = [await create(), await create(), await create()]
  await svc.sandboxes.delete({ id: deleted.id })
  assert.equal((await svc.sandboxes.stop({ id: stopped.id })).status, "STOPPED")
  release()
  assert.equal(await output(kept.id, "cat /etc/motd"), "an image\n")
  assert.equal((await svc.sandboxes.get({ id: stopped.id })).status, "STOPPED")
  const disks = await readdir(join(p.config.dataDir, "workloads", "disks"))
  assert.deepEqual([disks.includes(kept.id), disks.includes(deleted.id)], [true, false])
  await svc.sandboxes.start({ id: stopped.id })
  assert.equal(await output(stopped.id, "cat /etc/motd"), "an image\n")
})

test("a template of the operator's is named by its file", { skip }, async () => {
  const { layer, p, svc } = world
  const templates = join(p.config.dataDir, "templates")
  await mkdir(templates)
  await writeFile(join(templates, "tools.tar"), layer)
  const id = await runningSandbox(svc, { template: "tools" })
  assert.equal(await output(id, "cat /etc/motd"), "an image\n")
})
