import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { atEnd, temporaryDir } from "../../kernel/db/embedded/testing/directories.ts"
import { createLog } from "../../kernel/log.ts"
import { createOutbound } from "../../kernel/outbound/open.ts"
import { createTestClock } from "../../testing/clock.ts"
import { ImageError, ImagesStoppedError } from "./image-error.ts"
import { type Image, openImages } from "./images.ts"
import { architecture } from "./manifest.ts"
import { sha256 } from "./registry.ts"
import { startRegistry } from "./testing/registry.ts"
import { tarOf } from "./testing/tar.ts"

const MiB = 2 ** 20

const world = async (
  t: TestContext,
  given: { storeBytesMax?: number; registries?: readonly string[] } = {},
) => {
  const dataDir = temporaryDir(t)
  const registry = await startRegistry(t)
  const outbound = createOutbound({
    ...{ outboundAllow: ["127.0.0.1"], dnsServers: [] },
    ...{ mode: "development", baseUrl: "http://localhost" },
  })
  atEnd(t, () => outbound[Symbol.asyncDispose]())
  const clock = createTestClock()
  const stop = new AbortController()
  const open = async () => {
    const images = await openImages({
      ...{ dataDir, outbound, clock, log: createLog("silent"), stopping: stop.signal },
      ...{ imageBytesMax: 8 * MiB, storeBytesMax: MiB, registries: undefined, ...given },
    })
    atEnd(t, () => images[Symbol.asyncDispose]())
    return images
  }
  const unpacked = () => readdir(join(dataDir, "images", "unpacked"))
  const fileIn = ({ root }: Image, path: string) =>
    readFile(join(root.kind === "image" ? root.directory : "", path), "utf8")
  return { dataDir, registry, clock, stop, open, unpacked, fileIn }
}

const layer = (content: string) => tarOf({ path: "file", content })
const filled = (bytes: number) => tarOf({ path: "big", content: Buffer.alloc(bytes) })

test("an image is pulled by its tag: token, index, redirected blobs, layers and configuration", async t => {
  const { registry, open, fileIn } = await world(t)
  const config = {
    ...{
      Env: ["PATH=/bin", "A=b=c", "=odd"],
      Entrypoint: ["/bin/tool"],
      Cmd: ["-v"],
      WorkingDir: "/app",
      User: "5:6",
    },
    ExposedPorts: { "80/tcp": {}, "53/udp": {}, "90000": {}, "8080": {} },
  }
  const layers = [layer("low"), layer("high"), tarOf({ path: "app", type: "Directory" })]
  const digest = registry.push("some/tool", "1.2", layers, { config, isIndex: true })
  const images = await open()
  const name = `${registry.host}/some/tool:1.2`
  images.check(name)
  assert.equal(images.find(name), undefined)
  const image = await images.prepare(name)
  assert.equal(image.digest, digest)
  assert.equal(await fileIn(image, "file"), "high")
  assert.deepEqual(image.config, {
    ...{
      env: { PATH: "/bin", A: "b=c" },
      entrypoint: ["/bin/tool"],
      cmd: ["-v"],
      workingDir: "/app",
      user: "5:6",
    },
    exposedPorts: [80, 8080],
  })
  assert.deepEqual(images.find(name), image)
  const count = registry.requests.length
  assert.deepEqual(await images.prepare(name), image)
  assert.deepEqual(await images.prepare(`${registry.host}/some/tool@${digest}`), image)
  // By its digest it is not known yet to be there: one look.
  assert.ok(registry.requests.length <= count + 1)
})

test("many who ask at once share one pull, also under different names", async t => {
  const { registry, open, unpacked } = await world(t)
  const digest = registry.push("a", "1", [layer("x")])
  registry.push("a", "2", [layer("x")])
  const images = await open()
  const names = Array.from({ length: 40 }, (_, n) => `${registry.host}/a:${1 + (n % 2)}`)
  const found = await Promise.all(names.map(name => images.prepare(name)))
  assert.ok(found.every(image => image.digest === digest))
  const blobs = registry.requests.filter(line => line.includes("/elsewhere/"))
  assert.ok(blobs.length <= 4, blobs.join())
  assert.equal((await unpacked()).length, 1)
})

test("a tag is looked up again after a while; what was pulled serves while the registry is away, and after a restart", async t => {
  const { registry, clock, open, fileIn } = await world(t)
  const first = registry.push("a", "latest", [layer("one")])
  const images = await open()
  const name = `${registry.host}/a`
  await images.prepare(name)
  const second = registry.push("a", "latest", [layer("two")])
  assert.equal((await images.prepare(name)).digest, first)
  await clock.advance(6 * 60_000)
  assert.equal(images.find(name), undefined)
  assert.equal((await images.prepare(name)).digest, second)
  assert.equal(await fileIn(await images.prepare(name, first), "file"), "one")
  registry.isDown = true
  await clock.advance(6 * 60_000)
  assert.equal((await images.prepare(name)).digest, second)
  await images[Symbol.asyncDispose]()
  assert.equal((await (await open()).prepare(name)).digest, second)
})

test("what cannot be had is told in a sentence, and leaves nothing", async t => {
  const { dataDir, registry, open, unpacked } = await world(t)
  const images = await open()
  const at = (name: string) => `${registry.host}/${name}`
  registry.push("other", "1", [layer("x")], { architecture: "s390x" })
  registry.push("indexed", "1", [layer("x")], { architecture: "s390x", isIndex: true })
  registry.push("large", "1", [filled(9 * MiB)])
  registry.push("climbing", "1", [tarOf({ path: "../../../x", content: "x" })])
  registry.push("broken", "1", [Buffer.from("no archive".repeat(100))])
  registry.push("changed", "1", [layer("secret")])
  const changed = [...registry.blobs].at(-2)?.[0] ?? ""
  registry.corrupt(changed)
  const expected: Record<string, RegExp> = {
    "missing:1": /no such image/,
    "missing@sha256:0000000000000000000000000000000000000000000000000000000000000000": /no such image/,
    "other:1": new RegExp(`linux/${architecture}`),
    "indexed:1": new RegExp(`linux/${architecture}`),
    "large:1": /larger/,
    "climbing:1": /leads out of the image/,
    "broken:1": /cannot be read/,
    "changed:1": /something else/,
  }
  for (const [name, text] of Object.entries(expected))
    await assert.rejects(images.prepare(at(name)), (error: unknown) => {
      assert.ok(error instanceof ImageError, `${name}: ${error}`)
      assert.match(error.message, text)
      return true
    })
  assert.deepEqual(await unpacked(), [])
  assert.deepEqual(await readdir(join(dataDir, "images", "tmp")), [])
})

test("names are judged before anybody is asked", async t => {
  const { registry, open } = await world(t)
  const images = await open()
  for (const name of ["host-rootfs", "alpine", "alpine:3.20", "ghcr.io/a/b", `a/b@sha256:${"0".repeat(64)}`])
    images.check(name)
  const wrong = [
    "Alpine",
    "a b",
    "a:b:c",
    "../a",
    "http://a/b",
    "a@sha256:12",
    "a//b",
    "a/../b",
    "-a",
    "a:",
    "localhost/",
    "x".repeat(300),
    "a\n",
  ]
  const inside = ["10.0.0.1/a", "169.254.169.254/a:1", "[::2]:5000/a", "user@host/a"]
  for (const name of [...wrong, ...inside])
    assert.throws(() => images.check(name), { code: "invalid_parameter" }, name)
  assert.deepEqual(registry.requests, [])
})

test("an operator chooses the registries", async t => {
  const { registry, open } = await world(t, { registries: ["ghcr.io"] })
  const images = await open()
  images.check("ghcr.io/a/b")
  for (const name of ["alpine", `${registry.host}/a`])
    assert.throws(() => images.check(name), /SVC_IMAGE_REGISTRIES/)
})

test("images that nobody needs make room, oldest first; those that are needed and those of a moment ago stay", async t => {
  const { registry, clock, open, unpacked } = await world(t, { storeBytesMax: 600 * 1024 })
  const images = await open()
  const digests: string[] = []
  const pull = async (name: string) => {
    const digest = registry.push(name, "1", [filled(230 * 1024), layer(name)])
    digests.push(digest)
    await images.prepare(`${registry.host}/${name}:1`)
    await clock.advance(60_000)
  }
  images.keep(async () => digests.slice(0, 1))
  for (const name of ["kept", "old", "used", "late"]) await pull(name)
  assert.equal((await unpacked()).length, 4)
  await clock.advance(20 * 60_000)
  await images.prepare(`${registry.host}/used:1`, digests[2] ?? "")
  await pull("new")
  const [kept, , used, , latest] = digests
  assert.deepEqual(
    (await unpacked()).sort(),
    [kept, used, latest].map(digest => digest?.replace(":", "-")).sort(),
  )
})

test("what a crash left half done is removed, and what it left whole is found", async t => {
  const { dataDir, registry, open, unpacked } = await world(t)
  const digest = registry.push("a", "1", [layer("x")])
  const images = await open()
  await images.prepare(`${registry.host}/a:1`)
  await images[Symbol.asyncDispose]()
  await mkdir(join(dataDir, "images", "tmp", randomUUID(), "made", "root"), { recursive: true })
  await mkdir(join(dataDir, "images", "unpacked", "sha256-half", "root"), { recursive: true })
  const again = await open()
  assert.equal(again.find(`${registry.host}/a:1`)?.digest, digest)
  assert.deepEqual(await unpacked(), [digest.replace(":", "-")])
  assert.deepEqual(await readdir(join(dataDir, "images", "tmp")), [])
})

test("a pull ends when the platform stops", async t => {
  const { registry, stop, open } = await world(t)
  registry.push("a", "1", [layer("x")])
  const reached = Promise.withResolvers<void>()
  registry.beforeBlob = () => {
    reached.resolve()
    return new Promise(() => undefined)
  }
  const images = await open()
  const pulling = assert.rejects(images.prepare(`${registry.host}/a:1`), ImagesStoppedError)
  await reached.promise
  stop.abort()
  await pulling
})

test("templates are archives of the operator's, of three kinds, or a directory", async t => {
  const { dataDir, open, unpacked, fileIn } = await world(t)
  const templates = join(dataDir, "templates")
  await mkdir(join(templates, "folder"), { recursive: true })
  await writeFile(join(templates, "folder", "file"), "folder")
  await writeFile(join(templates, "plain.tar"), layer("plain"))
  const config = Buffer.from(JSON.stringify({ os: "linux", architecture, config: { Env: ["A=1"] } }))
  const hex = (bytes: Buffer) => sha256(bytes).slice("sha256:".length)
  const saved = layer("saved")
  const list = JSON.stringify([{ Config: `${hex(config)}.json`, Layers: [`${hex(saved)}/layer.tar`] }])
  const archive = tarOf(
    { path: `${hex(config)}.json`, content: config },
    { path: `${hex(saved)}/layer.tar`, content: saved },
    { path: "../escape", content: "x" },
    { path: "manifest.json", content: list },
  )
  await writeFile(join(templates, "saved.tar"), archive)
  const blob = (bytes: Buffer) => ({ path: `blobs/sha256/${hex(bytes)}`, content: bytes })
  const part = (bytes: Buffer) => ({ digest: sha256(bytes), size: bytes.length })
  const layout = layer("layout")
  const manifest = Buffer.from(JSON.stringify({ config: part(config), layers: [part(layout)] }))
  const index = JSON.stringify({ manifests: [part(manifest)] })
  await writeFile(
    join(templates, "layout.tar"),
    tarOf(blob(config), blob(layout), blob(manifest), { path: "index.json", content: index }),
  )
  const images = await open()
  for (const name of ["folder", "plain", "saved", "layout"]) {
    images.check(name)
    const image = await images.prepare(name)
    assert.equal(await fileIn(image, "file"), name)
    assert.equal(images.find(name)?.digest, image.digest)
    assert.deepEqual(image.config.env, name === "saved" || name === "layout" ? { A: "1" } : {})
  }
  assert.equal((await images.prepare("layout")).digest, sha256(manifest))
  assert.equal((await unpacked()).length, 3)
  const before = await images.prepare("plain")
  await writeFile(join(templates, "plain.tar"), layer("plain, changed"))
  assert.equal(await fileIn(await images.prepare("plain"), "file"), "plain, changed")
  assert.equal(await fileIn(await images.prepare("plain", before.digest), "file"), "plain")
  await writeFile(join(templates, "bad.tar"), "no archive".repeat(100))
  await assert.rejects(images.prepare("bad"), ImageError)
})
