/** Steps of builds that run: in workloads of bubblewrap, over images, with what they change as layers. */
import assert from "node:assert/strict"
import { execFile, spawnSync } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { BUSYBOX, withoutBusybox } from "../../ports/runtime/testing/busybox.ts"
import { eventually } from "../../testing/eventually.ts"
import { build, buildWorld, built, folderOf, logOf, over, pull, upload } from "./testing/world.ts"

const skip = withoutBusybox || (process.getuid?.() === 0 ? false : "it takes root")

const START = [
  "FROM scratch AS base",
  "COPY --chmod=0755 busybox /bin/busybox",
  'RUN ["/bin/busybox", "sh", "-c", "for name in sh cat rm mkdir ln chmod chown touch id sleep echo ls env pwd; do /bin/busybox ln -s busybox /bin/$name; done"]',
]

test("steps that run", { skip }, async t => {
  const world = await buildWorld(t, { env: { SVC_RUNTIME: "bubblewrap", SVC_BUILD_MEMORY_MB: "256" } })
  const { svc } = world
  const busybox = await readFile(BUSYBOX)
  const folder = (...lines: string[]) =>
    folderOf({ Dockerfile: [...START, ...lines].join("\n"), busybox, note: "n" })

  await t.test("what a step adds, changes and removes is its layer, with owners and links", async () => {
    const done = await built(
      world,
      folder(
        "COPY note /data/note",
        "COPY note /data/old/note",
        "ENV GREETING=hello",
        "RUN echo $GREETING >/data/said && ln /data/said /data/hard && ln -s said /data/soft && rm -r /data/old && chmod 600 /data/note",
        "RUN mkdir /own && chown 12:13 /own && touch /own/x && rm /own/x && echo done >&2",
        "RUN <<EOF",
        "cat /data/hard",
        "EOF",
        "RUN --mount=type=cache,target=/cache mkdir -p /cache && touch /cache/x",
        "USER 33:44",
        "WORKDIR /data",
        "RUN id -u && id -g && pwd && ! touch /data/denied",
      ),
    )
    const { layers } = await pull(world, done)
    // The directory is listed too where its time has changed, which is told in whole seconds.
    const changed = (layers[4] ?? []).filter(entry => entry !== "data/ 755 0:0")
    assert.deepEqual([...changed].sort(), [
      "data/.wh.old 644 0:0",
      "data/hard 644 0:0 hello",
      "data/note 600 0:0 n",
      "data/said 644 0:0 data/hard",
      "data/soft 777 0:0 said",
    ])
    assert.deepEqual(layers[5], ["own/ 755 12:13"])
    assert.equal(layers.length, 6)
    assert.match(await logOf(world, done.id), /^done$[\s\S]*^hello$[\s\S]*^33\n44\n[\s\S]*^\/data$/m)
  })

  await t.test(
    "a step that is not changed does not run again, and other stages hand over their files",
    async () => {
      const lines = ["RUN echo made >/made", "FROM scratch", "COPY --from=base /made /taken"]
      await built(world, folder(...lines))
      const again = await built(world, folder(...lines))
      assert.equal(again.cached_steps, 4)
      const { layers } = await pull(world, again)
      assert.deepEqual(layers, [["taken 644 0:0 made"]])
    },
  )

  const withoutSkopeo = spawnSync("skopeo", ["--version"]).error ? "skopeo is not installed" : false

  await t.test(
    "skopeo takes such an image apart, and finds the layers that its configuration names",
    { skip: withoutSkopeo },
    async t => {
      const { image_digest: digest } = await built(world, folder("RUN echo made >/made"), {
        image_tag: "taken:1",
      })
      const at = await mkdtemp(join(tmpdir(), "svc-builds-"))
      t.after(() => rm(at, { recursive: true, force: true }))
      const policy = join(at, "policy.json")
      await writeFile(policy, JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }))
      const from = `docker://${new URL(world.p.url).host}/${world.projectId}/taken@${digest}`
      const options = [
        "--policy",
        policy,
        "copy",
        "--src-tls-verify=false",
        "--src-creds",
        `me:${world.secret}`,
      ]
      await promisify(execFile)("skopeo", [...options, from, `docker-archive:${join(at, "image.tar")}`])
    },
  )

  await t.test("a command that fails ends the build with its exit code and what it said", async () => {
    const done = await build(world, folder("RUN echo oh no >&2; exit 7"))
    assert.deepEqual([done.status, done.status_reason], ["FAILURE", "the command ended with exit code 7"])
    assert.match(await logOf(world, done.id), /^oh no$/m)
  })

  await t.test("one that never ends is stopped by its time, or by who cancels it", async () => {
    const waits = async (timeout_seconds: number) => {
      const { id } = await upload(world, folder("RUN echo begun && sleep 1000"), { timeout_seconds })
      await eventually("the step has begun", async () => /^begun$/m.test(await logOf(world, id)))
      return id
    }
    const first = await waits(60)
    await world.p.clock.advance(61_000)
    assert.equal((await over(world, first)).status, "TIMEOUT")
    const second = await waits(600)
    assert.equal((await svc.builds.cancel({ id: second })).status, "CANCELLED")
    assert.equal((await over(world, second)).status_reason, "it was cancelled")
    const { total } = await svc.builds.list({ status: "CANCELLED" })
    assert.equal(total, 1)
  })

  await t.test("a folder without a Dockerfile is built as what it is, and says by which one", async () => {
    const done = await built(
      world,
      folderOf({ "package.json": '{"scripts":{"start":"node app.js"}}', "app.js": "" }),
    )
    assert.match(await logOf(world, done.id), /the kind node[\s\S]*FROM svc\/node:\d+[\s\S]*CMD node app\.js/)
    const { config } = await pull({ ...world }, done)
    assert.deepEqual(config.Cmd, ["/bin/sh", "-c", "node app.js"])
  })
})
