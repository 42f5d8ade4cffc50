import assert from "node:assert/strict"
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { gzipSync, zstdCompressSync } from "node:zlib"
import fc from "fast-check"
import { ImageError } from "./image-error.ts"
import { type TestEntry, tarOf } from "./testing/tar.ts"
import { isOpenToAll, unpackLayers } from "./unpack.ts"

const limits = { bytesMax: 2 ** 26, entriesMax: 1000 }
const isRoot = process.getuid?.() === 0

/** A folder with a root to unpack into, and beside it what nobody may touch. */
const world = async (t: TestContext) => {
  const folder = await mkdtemp(join(tmpdir(), "svc-unpack-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const [root, outside] = [join(folder, "root"), join(folder, "outside")]
  await mkdir(root, { mode: 0o755 })
  await mkdir(outside)
  await writeFile(join(outside, "secret"), "secret")
  let files = 0
  const unpack = async (layers: readonly (Buffer | TestEntry[])[], given = limits) => {
    const paths = layers.map(() => join(folder, `layer-${files++}`))
    for (const [index, layer] of layers.entries())
      await writeFile(paths[index] ?? "", Buffer.isBuffer(layer) ? layer : tarOf(...layer))
    return await unpackLayers(paths, root, given)
  }
  const untouched = async () => {
    assert.deepEqual(await readdir(outside), ["secret"])
    assert.equal(await readFile(join(outside, "secret"), "utf8"), "secret")
    assert.deepEqual((await readdir(folder)).filter(name => !name.startsWith("layer-")).sort(), [
      "outside",
      "root",
    ])
  }
  return { root, outside, unpack, untouched }
}

/** Links are names like others, and are not followed. */
const namesIn = async (root: string, below = ""): Promise<readonly string[]> => {
  const entries = await readdir(join(root, below), { withFileTypes: true })
  const names = entries.map(async entry => {
    const path = join(below, entry.name)
    return entry.isDirectory() ? [path, ...(await namesIn(root, path))] : [path]
  })
  return (await Promise.all(names)).flat().sort()
}

test("layers lie over each other: files, directories, links, owners, modes and times", async t => {
  const { root, unpack } = await world(t)
  const lower: TestEntry[] = [
    { path: "./", type: "Directory" },
    { path: "./bin/tool", content: "tool", mode: 0o6755, uid: 5, gid: 7 },
    { path: "etc/", type: "Directory", mode: 0o750 },
    { path: "etc/a", content: "old" },
    { path: "lib", type: "SymbolicLink", linkpath: "/usr/lib" },
    { path: "usr/lib/x", content: "x" },
    { path: "hard", type: "Link", linkpath: "./bin/tool" },
    { path: "tmp", type: "Directory", mode: 0o1777 },
    { path: "far", content: "far", uid: 2_000_000 },
  ]
  await unpack([
    lower,
    gzipSync(tarOf({ path: "etc/a", content: "new" }, { path: "lib/y", content: "y" })),
    zstdCompressSync(tarOf({ path: "etc", type: "Directory", mode: 0o711 })),
  ])
  assert.deepEqual(await namesIn(root), [
    "bin",
    "bin/tool",
    "etc",
    "etc/a",
    "far",
    "hard",
    "lib",
    "tmp",
    "usr",
    "usr/lib",
    "usr/lib/x",
    "usr/lib/y",
  ])
  assert.equal(await readFile(join(root, "etc/a"), "utf8"), "new")
  assert.equal(await readlink(join(root, "lib")), "/usr/lib")
  const tool = await stat(join(root, "bin/tool"))
  assert.deepEqual(
    [tool.mode & 0o7777, tool.nlink, tool.mtime.toISOString()],
    [0o755, 2, "2020-01-02T03:04:05.000Z"],
  )
  const modes = await Promise.all(
    ["etc", "tmp"].map(async name => (await stat(join(root, name))).mode & 0o7777),
  )
  assert.deepEqual(modes, [0o711, 0o1777])
  if (isRoot) {
    assert.deepEqual([tool.uid, tool.gid], [5, 7])
    assert.equal((await stat(join(root, "far"))).uid, 65_534)
  }
})

test("whiteouts hide what layers below brought, and nothing of their own layer", async t => {
  const { root, unpack } = await world(t)
  await unpack([
    ["a/1", "a/2", "a/deep/3", "b/1", "c/1", "d"].map(path => ({ path, content: path })),
    [
      { path: "a/new/4", content: "4" },
      { path: "a/.wh..wh..opq" },
      { path: "b/.wh.1" },
      { path: "b/.wh.nothing" },
      { path: ".wh.c" },
    ],
    [{ path: ".wh.d" }, { path: "d", type: "Directory" }, { path: "a/.wh..wh.plnk" }],
  ])
  assert.deepEqual(await namesIn(root), ["a", "a/new", "a/new/4", "b", "d"])
})

test("no name and no link leads out of the image", async t => {
  const { root, outside, unpack, untouched } = await world(t)
  const refused: TestEntry[][] = [
    [{ path: "../outside/x" }],
    [{ path: "a/../../outside/x" }],
    [{ path: "/../../outside/x" }],
    [{ path: "..", type: "Directory", mode: 0 }],
    [{ path: "../outside", type: "SymbolicLink", linkpath: "/" }],
    [{ path: ".wh..." }],
    [{ path: ".wh..." }, { path: "a/.wh..", content: "" }],
    [{ path: "hard", type: "Link", linkpath: "../outside/secret" }],
    [{ path: "hard", type: "Link", linkpath: join(outside, "secret") }],
    [
      { path: "out", type: "SymbolicLink", linkpath: outside },
      { path: "hard", type: "Link", linkpath: "out/secret" },
    ],
    [{ path: "hard", type: "Link", linkpath: "." }],
    [{ path: "a", content: "" }, { path: "a/b" }],
    [
      { path: "a", type: "SymbolicLink", linkpath: "b" },
      { path: "b", type: "SymbolicLink", linkpath: "a" },
      { path: "a/c" },
    ],
  ]
  for (const entries of refused) {
    await assert.rejects(unpack([entries]), ImageError, JSON.stringify(entries))
    await rm(root, { recursive: true })
    await mkdir(root)
  }
  await untouched()
  const contained: TestEntry[][] = [
    [{ path: "/etc/absolute", content: "mine" }],
    [
      { path: "out", type: "SymbolicLink", linkpath: outside },
      { path: "out/x", content: "mine" },
    ],
    [
      { path: "up", type: "SymbolicLink", linkpath: "../../../../../../../.." },
      { path: "up/x", content: "mine" },
    ],
    [
      { path: "file", type: "SymbolicLink", linkpath: join(outside, "secret") },
      { path: "file", content: "mine" },
    ],
    [
      { path: "s", type: "SymbolicLink", linkpath: outside },
      { path: "s/.wh.secret" },
      { path: "s/.wh..wh..opq" },
    ],
    [{ path: "s", type: "SymbolicLink", linkpath: outside }, { path: ".wh.s" }],
    [
      { path: "s", type: "SymbolicLink", linkpath: outside },
      { path: "s", type: "Directory", mode: 0o777 },
    ],
    [
      { path: "h", type: "SymbolicLink", linkpath: join(outside, "secret") },
      { path: "hard", type: "Link", linkpath: "h" },
      { path: "hard", content: "mine" },
    ],
  ]
  for (const entries of contained) {
    await unpack(entries.map(entry => [entry]))
    await unpack([entries])
    await untouched()
  }
  await unpack([
    [
      { path: "/etc/absolute", content: "mine" },
      { path: "link", type: "SymbolicLink", linkpath: outside },
      { path: "link/x", content: "mine" },
    ],
  ])
  assert.equal(await readFile(join(root, "etc/absolute"), "utf8"), "mine")
  assert.equal(await readFile(join(root, outside, "x"), "utf8"), "mine")
})

test("devices and pipes are left out", async t => {
  const { root, unpack } = await world(t)
  await unpack([
    [
      { path: "dev/memory", type: "CharacterDevice" },
      { path: "dev/disk", type: "BlockDevice" },
      { path: "pipe", type: "FIFO" },
      { path: "there" },
    ],
  ])
  assert.deepEqual(await namesIn(root), ["there"])
})

test("what is too large, too much or no archive is refused in time", async t => {
  const { root, unpack } = await world(t)
  const bomb = gzipSync(tarOf({ path: "zeros", content: Buffer.alloc(2 ** 26) }))
  await assert.rejects(unpack([bomb]), ImageError)
  await assert.rejects(unpack([gzipSync(gzipSync(tarOf({ path: "a" })))]), /compressed twice/)
  await assert.rejects(
    unpack(
      [[{ path: "a", content: Buffer.alloc(2 ** 20) }], [{ path: "b", content: Buffer.alloc(2 ** 20) }]],
      { ...limits, bytesMax: 2 ** 21 },
    ),
    /larger/,
  )
  const many = Array.from({ length: 600 }, (_, n) => ({ path: `f${n}` }))
  await assert.rejects(unpack([many, many]), /more files/)
  const whole = gzipSync(tarOf({ path: "a", content: Buffer.alloc(100_000, "x") }))
  await assert.rejects(unpack([whole.subarray(0, whole.length - 100)]), ImageError)
  await assert.rejects(
    unpack([tarOf({ path: "a", content: Buffer.alloc(100_000, "x") }).subarray(0, 50_000)]),
    ImageError,
  )
  await assert.rejects(unpack([Buffer.from("no archive".repeat(200))]), ImageError)
  await rm(root, { recursive: true })
  await mkdir(root)
  for (const empty of [Buffer.alloc(1024), gzipSync(Buffer.alloc(1024)), gzipSync(Buffer.alloc(10_240))])
    await unpack([empty])
  assert.deepEqual(await namesIn(root), [])
})

test("whatever an archive says, nothing outside of the image changes", async t => {
  const { root, outside, unpack, untouched } = await world(t)
  const name = fc.constantFrom("a", "b", "..", ".", "", ".wh.a", ".wh..wh..opq", "/", "c")
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map(parts => parts.join("/"))
  const target = fc.oneof(path, fc.constantFrom(outside, `${outside}/secret`, "/", "../../..", "../outside"))
  const entry = fc.record({
    path,
    type: fc.constantFrom("File", "Directory", "SymbolicLink", "Link") as fc.Arbitrary<
      NonNullable<TestEntry["type"]>
    >,
    linkpath: target,
    content: fc.constantFrom("", "changed"),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(entry, { maxLength: 8 }), { maxLength: 3 }), async layers => {
      await rm(root, { recursive: true, force: true })
      await mkdir(root)
      await unpack(layers).catch(error => assert.ok(error instanceof ImageError, String(error)))
      await untouched()
    }),
    { numRuns: 150 },
  )
})

test("a directory is for everybody when all on its way are", async t => {
  const { root, unpack } = await world(t)
  await unpack([
    [
      { path: "app/src", type: "Directory" },
      { path: "root", type: "Directory", mode: 0o700 },
      { path: "link", type: "SymbolicLink", linkpath: "/app" },
    ],
  ])
  assert.ok(isOpenToAll(root, "/app/src"))
  assert.ok(isOpenToAll(root, "/link/made"))
  assert.ok((await lstat(join(root, "app/made"))).isDirectory())
  assert.ok(!isOpenToAll(root, "/root/work"))
})
