/** Deployments of images, asked by curl. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { promisify } from "node:util"
import { withoutBusybox } from "../../ports/runtime/testing/busybox.ts"
import { busyboxLayer } from "../../services/images/testing/busybox.ts"
import { startRegistry } from "../../services/images/testing/registry.ts"
import { tarOf } from "../../services/images/testing/tar.ts"
import { ask } from "../run-services/testing/world.ts"
import { deploymentWorld, running } from "./testing/world.ts"

test("an image runs as its digest, is replaced while curl asks, and rolled back", {
  skip: withoutBusybox,
}, async t => {
  const world = await deploymentWorld(t, {
    env: { SVC_OUTBOUND_ALLOW: "127.0.0.1", SVC_IMAGE_REGISTRIES: "any" },
  })
  const { svc } = world
  const registry = await startRegistry(t)
  const push = async (tag: string) =>
    registry.push(
      ...(["site", tag] as const),
      [
        await busyboxLayer(),
        tarOf({ path: "srv", type: "Directory" }, { path: "srv/index.html", content: `${tag}\n` }),
      ],
      { config: { Env: ["PATH=/bin"], Cmd: ["/bin/sh", "-c", "exec httpd -f -p $PORT -h /srv"] } },
    )
  const digests = [await push("one"), await push("two")]
  const given = { name: "site", memory_mb: 128, vcpus: 0.25 }
  const { id, url } = await svc.deployments.create({
    ...{ ...given, image: `${registry.host}/site:one`, public: true, min_instances: 2 },
    health_check: { path: "/index.html" },
  })
  assert.equal((await running(world, id)).image_digest, digests[0])
  const asked = ["-s", "-Z", "--parallel-max", "8", `${url}/index.html?n=[1-50]`, "-w", "%{http_code}\\n"]
  let isOver = false
  const answers = (async () => {
    const texts: string[] = []
    while (!isOver) texts.push((await promisify(execFile)("curl", asked)).stdout)
    return texts.join("").split("\n")
  })()
  await svc.deployments.create({ ...given, image: `${registry.host}/site:two` })
  assert.equal((await running(world, id)).image_digest, digests[1])
  await svc.deployments.rollback({ id, version: 1 })
  assert.equal((await running(world, id)).image_digest, digests[0])
  isOver = true
  assert.deepEqual([...new Set(await answers)].sort(), ["", "200", "one", "two"])
  assert.equal((await ask(world, url, "/index.html")).text, "one\n")
})
