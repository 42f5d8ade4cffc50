/** Programs that speak S3, as Debian packages them, against the same buckets. Skipped by name where they are missing. */
import assert from "node:assert/strict"
import { execFile, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { promisify } from "node:util"
import { platform } from "../../../testing/platform.ts"
import { accessOf } from "./testing/world.ts"

const run = promisify(execFile)
const MIB = 1024 * 1024

const missing = (program: string) =>
  spawnSync(program, ["--version"]).error === undefined ? false : `${program} is not installed`

const makeFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-s3-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Small files with awkward names, one in a folder, and one that is sent in parts. */
const makeFiles = async (folder: string): Promise<Record<string, Buffer>> => {
  const files: Record<string, Buffer> = {
    "plain.txt": Buffer.from("hello"),
    empty: Buffer.alloc(0),
    "with blank + plus & é.txt": Buffer.from("odd"),
    "deeper/still/file.bin": randomBytes(100_000),
    "large.bin": randomBytes(12 * MIB),
  }
  await mkdir(join(folder, "deeper/still"), { recursive: true })
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  return files
}

const isSame = async (folder: string, files: Record<string, Buffer>) => {
  for (const [name, content] of Object.entries(files))
    assert.ok((await readFile(join(folder, name))).equals(content), name)
}

test("rclone copies a tree there and back, in parts where it is large, and finds nothing to do after", {
  skip: missing("rclone"),
}, async t => {
  const p = await platform(t)
  const { endpoint, credentials } = await accessOf(p)
  const [here, back] = [await makeFolder(t), await makeFolder(t)]
  await writeFile(join(back, "none.conf"), "")
  const env = {
    PATH: process.env.PATH,
    RCLONE_CONFIG: join(back, "none.conf"),
    RCLONE_CONFIG_SVC_TYPE: "s3",
    RCLONE_CONFIG_SVC_PROVIDER: "Other",
    RCLONE_CONFIG_SVC_ENDPOINT: endpoint,
    RCLONE_CONFIG_SVC_ACCESS_KEY_ID: credentials.accessKeyId,
    RCLONE_CONFIG_SVC_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    RCLONE_S3_UPLOAD_CUTOFF: "6Mi",
    RCLONE_S3_CHUNK_SIZE: "5Mi",
    RCLONE_RETRIES: "1",
  }
  const rclone = async (...words: string[]) => {
    const { stdout, stderr } = await run("rclone", words, { env })
    return stdout + stderr
  }
  const files = await makeFiles(here)

  await rclone("mkdir", "svc:tree")
  await rclone("copy", here, "svc:tree/in")
  await rclone("check", here, "svc:tree/in")
  assert.match(await rclone("sync", "--verbose", here, "svc:tree/in"), /There was nothing to transfer/)
  await rclone("copy", "svc:tree/in", "svc:tree/copied")
  await rclone("copy", "svc:tree/copied", join(back, "files"))
  await isSame(join(back, "files"), files)
  const listed = await rclone("lsf", "--recursive", "--files-only", "svc:tree/in")
  assert.deepEqual(listed.trim().split("\n").sort(), Object.keys(files).sort())
  await rclone("purge", "svc:tree")
  assert.equal(await rclone("lsd", "svc:"), "")
})

test("s3cmd, which takes no path in its endpoint, puts, lists, copies, gets and deletes", {
  skip: missing("s3cmd"),
}, async t => {
  const p = await platform(t)
  const { endpoint, credentials } = await accessOf(p)
  const [here, back] = [await makeFolder(t), await makeFolder(t)]
  const { host } = new URL(endpoint)
  const config = join(back, "s3cfg")
  const settings = {
    ...{ access_key: credentials.accessKeyId, secret_key: credentials.secretAccessKey },
    ...{ host_base: host, host_bucket: host, use_https: "False" },
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  await writeFile(config, `[default]\n${lines.join("\n")}\n`, { mode: 0o600 })
  const s3cmd = async (...words: string[]) =>
    (await run("s3cmd", ["--config", config, "--no-progress", "--multipart-chunk-size-mb=5", ...words]))
      .stdout

  const files = await makeFiles(here)
  await s3cmd("mb", "s3://programs")
  for (const name of Object.keys(files)) await s3cmd("put", join(here, name), `s3://programs/${name}`)
  assert.match(await s3cmd("ls", "s3://"), /s3:\/\/programs/)
  assert.match(await s3cmd("ls", "s3://programs/"), /DIR {2}s3:\/\/programs\/deeper\//)
  assert.match(await s3cmd("info", "s3://programs/plain.txt"), /MD5 sum: +5d41402abc4b2a76b9719d911017c592/)
  await s3cmd("cp", "s3://programs/large.bin", "s3://programs/copy.bin")
  await mkdir(join(back, "deeper/still"), { recursive: true })
  for (const name of Object.keys(files)) await s3cmd("get", `s3://programs/${name}`, join(back, name))
  await isSame(back, files)
  await s3cmd("rm", "--recursive", "--force", "s3://programs/")
  await s3cmd("rb", "s3://programs")
})
