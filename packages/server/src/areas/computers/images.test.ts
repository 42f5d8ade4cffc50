/** Computers of images: a machine keeps its disk, and the image it was made from. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { withoutBusybox } from "../../ports/runtime/testing/busybox.ts"
import { busyboxLayer } from "../../services/images/testing/busybox.ts"
import { startRegistry } from "../../services/images/testing/registry.ts"
import { tarOf } from "../../services/images/testing/tar.ts"
import { platform } from "../../testing/platform.ts"
import { run, runningComputer, SCOPES } from "./testing/computers.ts"

const skip = withoutBusybox

test("a computer of an image keeps its disk, and its image whatever the tag stands for later", {
  skip,
}, async t => {
  const [registry, layer] = await Promise.all([startRegistry(t), busyboxLayer()])
  const env = { SVC_OUTBOUND_ALLOW: "127.0.0.1", SVC_IMAGE_REGISTRIES: "any" }
  const p = await platform(t, { env })
  const svc = await p.client("acme", ...SCOPES)
  const image = `${registry.host}/busybox`
  const first = registry.push("busybox", "latest", [layer], { config: { Env: ["FLAVOUR=plain"] } })
  const id = await runningComputer(svc, "one", { image })
  assert.equal(await run(svc, id, "pwd; echo $FLAVOUR; id -un; hostname"), "/home/user\nplain\nuser\none\n")
  await run(svc, id, "echo kept >/usr/kept; rm /etc/motd; echo new >/etc/new", "root")
  const { image: named, image_digest } = await svc.computers.get({ id })
  assert.deepEqual([named, image_digest], [image, first])

  const second = registry.push("busybox", "latest", [layer, tarOf({ path: "etc/version", content: "2\n" })])
  await svc.computers.stop({ id })
  await p.clock.advance(10 * 60_000)
  const other = await runningComputer(svc, "two", { image })
  assert.equal((await svc.computers.get({ id: other })).image_digest, second)
  assert.equal(await run(svc, other, "cat /etc/version"), "2\n")
  await svc.computers.start({ id })
  assert.equal(
    await run(svc, id, "cat /usr/kept /etc/new /etc/motd /etc/version 2>/dev/null; true"),
    "kept\nnew\n",
  )
  assert.equal((await svc.computers.get({ id })).image_digest, first)
})
