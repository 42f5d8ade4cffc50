/** `svc storage` against a real platform. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { platform } from "../../../../server/src/testing/platform.ts"
import { openFolder, openShell } from "../../testing/command.ts"

const open = async (t: TestContext) => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["storage:read", "storage:write"])
  const svc = p.as(secret)
  await svc.storage.createBucket({ name: "photos" })
  const { run } = await openShell(t, p.url, secret)
  return { svc, folder: await openFolder(t), storage: (...words: string[]) => run(["storage", ...words]) }
}

test("a folder goes up and comes back the same, with types that browsers know and without what links point to", async t => {
  const { svc, folder, storage } = await open(t)
  const from = join(folder, "site")
  await mkdir(join(from, "a/b"), { recursive: true })
  const files = { "index.html": "<h1>hello", "a/b/c d.json": "{}", "a/empty": "", "a/ünï.bin": "\0\x01" }
  for (const [name, text] of Object.entries(files)) await writeFile(join(from, name), text)
  await symlink("/etc/hostname", join(from, "link"))

  const up = await storage("cp", "-r", from, "svc://photos/site")
  assert.deepEqual([up.code, up.err], [0, ""])
  assert.match(up.out, /^4 files, /)
  const listed = await svc.storage.listObjects({ bucket: "photos" })
  assert.deepEqual(
    listed.data.map(({ key, http_metadata }) => [key, http_metadata.content_type]),
    [
      ["site/a/b/c d.json", "application/json"],
      ["site/a/empty", "application/octet-stream"],
      ["site/a/ünï.bin", "application/octet-stream"],
      ["site/index.html", "text/html; charset=utf-8"],
    ],
  )

  const back = join(folder, "back")
  assert.equal((await storage("cp", "-r", "svc://photos/site", back)).code, 0)
  for (const [name, text] of Object.entries(files))
    assert.equal(await readFile(join(back, name), "utf8"), text)
  assert.equal(
    (await readdir(back, { recursive: true, withFileTypes: true })).filter(e => e.isFile()).length,
    4,
  )
})

test("a large file travels in parts, and one from standard input in one piece", async t => {
  const { svc, folder, storage } = await open(t)
  const bytes = randomBytes(70 * 1024 * 1024)
  await writeFile(join(folder, "film.mp4"), bytes)

  assert.equal((await storage("cp", join(folder, "film.mp4"), "svc://photos/films/")).code, 0)
  const { data } = await svc.storage.listObjects({ bucket: "photos" })
  assert.deepEqual(
    data.map(({ key, size, part_count }) => [key, size, part_count]),
    [["films/film.mp4", bytes.length, 5]],
  )
  assert.equal((await storage("cp", "svc://photos/films/film.mp4", folder)).code, 0)
  assert.ok(bytes.equals(await readFile(join(folder, "film.mp4"))))
})

test("what was stored under a key that climbs out of its folder is not written there", async t => {
  const { svc, folder, storage } = await open(t)
  await svc.storage.putObject({ bucket: "photos", key: "x/../../evil" }, { body: "evil" })

  const { code, err } = await storage("cp", "-r", "svc://photos/x", join(folder, "in/side"))
  assert.equal(code, 2)
  assert.match(err, /would be written outside of/)
  assert.deepEqual(await readdir(folder), [])
})

test("objects are listed by level or all, copied inside, and removed only when a person or --yes says so", async t => {
  const { svc, storage } = await open(t)
  for (const key of ["a/1", "a/2", "b", "a-2"])
    await svc.storage.putObject({ bucket: "photos", key }, { body: key })

  assert.match((await storage("ls")).out, /^photos +false +4 /m)
  const keys = async (...words: string[]) =>
    (JSON.parse((await storage("ls", ...words, "--json")).out) as { key: string }[]).map(({ key }) => key)
  assert.deepEqual((await keys("svc://photos")).sort(), ["a-2", "a/", "b"])
  assert.deepEqual(await keys("svc://photos/a/", "-r"), ["a/1", "a/2"])

  assert.equal((await storage("cp", "-r", "svc://photos/a", "svc://photos/copy")).code, 0)
  assert.equal((await storage("rm", "-r", "svc://photos/a")).code, 2)
  assert.equal((await storage("rm", "-r", "svc://photos/a", "--yes")).out, "2 deleted\n")
  assert.deepEqual(await keys("svc://photos", "-r"), ["a-2", "b", "copy/1", "copy/2"])
  assert.equal((await storage("rm", "svc://photos", "--yes")).code, 2)
})

test("a mistake is told before anything is sent", async t => {
  const { storage, folder } = await open(t)
  for (const words of [
    ["cp", "a"],
    ["cp", "a", "b"],
    ["cp", folder, "svc://photos/"],
    ["ls", "photos"],
    ["cp", "-r", "-", "svc://photos/"],
  ]) {
    const { code, err } = await storage(...words)
    assert.equal(code, 2, words.join(" "))
    assert.match(err, /^svc: /)
  }
})
