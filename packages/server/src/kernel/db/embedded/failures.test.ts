import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import type { Account } from "./account.ts"
import { type Binaries, locateBinaries, prepareBinaries, programOf } from "./binaries.ts"
import { ensureCluster } from "./cluster.ts"
import { startEmbeddedPostgres } from "./start.ts"
import { refusal, spawnStarter } from "./testing/child-processes.ts"
import { atEnd, isRoot, nobody, temporaryDir } from "./testing/directories.ts"

const rootOnly = { skip: isRoot ? false : "needs root" }
const log = () => {}
const asOurselves = { account: undefined, named: undefined, password: "only-in-tests" }

/** A file system of its own; skips the test by name where mounting is not permitted. */
const mountTmpfs = (t: TestContext, options: string): string | undefined => {
  const directory = temporaryDir(t)
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", directory], { stdio: "ignore" })
  } catch {
    t.skip("mount is not permitted here")
    return undefined
  }
  atEnd(t, () => execFileSync("umount", ["-l", directory]))
  return directory
}

const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, durable: false, log })

test("a read-only disk is named as such", async t => {
  const directory = mountTmpfs(t, "ro,size=1m")
  if (directory === undefined) return
  await assert.rejects(start(join(directory, "data")), {
    name: "StartupError",
    message: `Svc cannot create the data directory ${directory}/data: the file system is read-only.`,
  })
  await assert.rejects(start(directory), {
    message: `Svc cannot lock the data directory ${directory}: the file system is read-only.`,
  })
})

test("a disk that is full from the start is named as such", async t => {
  const directory = mountTmpfs(t, "size=1m,nr_inodes=1,mode=755")
  if (directory === undefined) return
  await assert.rejects(start(join(directory, "data")), {
    name: "StartupError",
    message: `Svc cannot create the data directory ${directory}/data: the disk is full.`,
  })
})

test("a disk that fills while the database is created is named as such, and no half cluster stays", async t => {
  const directory = mountTmpfs(t, "size=4m,mode=755")
  if (directory === undefined) return
  await assert.rejects(start(directory), {
    name: "StartupError",
    message: `The control database cannot be written in ${directory}: the disk is full.`,
    hint: /SVC_DATA_DIR/,
  })
  // The next start makes the cluster with the same password.
  assert.deepEqual(readdirSync(directory), ["control.secret"])
})

test("a disk that is full at a later start is named as such", async t => {
  const directory = mountTmpfs(t, "size=64m,mode=755")
  if (directory === undefined) return
  await (await start(directory)).stop()
  assert.throws(() => {
    for (;;) appendFileSync(join(directory, "ballast"), Buffer.alloc(65_536))
  })
  await assert.rejects(start(directory), { name: "StartupError", message: /the disk is full/ })
})

test("a directory that may not be written is named as such", rootOnly, async t => {
  const directory = temporaryDir(t)
  const asNobody = { uid: nobody.uid, gid: nobody.gid }
  const { refused, hint } = await refusal(spawnStarter(t, { dataDir: join(directory, "data") }, asNobody))
  assert.equal(refused, `Svc cannot create the data directory ${directory}/data: permission is denied.`)
  assert.match(hint, /SVC_DATA_DIR/)
})

test("a cluster of another user is refused to an ordinary one", rootOnly, async t => {
  const dataDir = temporaryDir(t, { mode: 0o777 })
  mkdirSync(join(dataDir, "postgres"), { mode: 0o700 })
  const asNobody = { uid: nobody.uid, gid: nobody.gid }
  const { refused, hint } = await refusal(spawnStarter(t, { dataDir }, asNobody))
  assert.match(refused, /belongs to user 0, and PostgreSQL would run as user 65534/)
  assert.equal(hint, "Start Svc as user 0 or as root.")
})

test("a cluster of another PostgreSQL version is refused", async t => {
  const dataDir = temporaryDir(t)
  await (await start(dataDir)).stop()
  writeFileSync(join(dataDir, "postgres/PG_VERSION"), "17\n")
  await assert.rejects(start(dataDir), {
    name: "StartupError",
    message: `The control database ${dataDir}/postgres was made by PostgreSQL 17, and this Svc carries PostgreSQL 18.`,
    hint: /pg_dump/,
  })
})

test("a server that ends while starting is reported with its last words", async t => {
  const dataDir = temporaryDir(t)
  await (await start(dataDir)).stop()
  rmSync(join(dataDir, "postgres/global/pg_control"))
  await assert.rejects(start(dataDir), {
    name: "StartupError",
    message: /ended while starting \(exit code \d\).*could not (open|find).*pg_control/s,
  })
  assert.deepEqual(readdirSync(dataDir).sort(), ["control.secret", "postgres", "run"])
})

test("a platform without a package is told to set SVC_DATABASE_URL", () => {
  assert.throws(() => locateBinaries("win32", "x64"), {
    name: "StartupError",
    message: "No embedded PostgreSQL is installed for win32-x64.",
    hint: /SVC_DATABASE_URL/,
  })
})

test("a system without the C library of the programs is told so", async t => {
  const directory = temporaryDir(t)
  const native = join(directory, "native")
  mkdirSync(join(native, "bin"), { recursive: true })
  // What the kernel answers for a missing loader: the program is there, its interpreter is not.
  writeFileSync(join(native, "bin/initdb"), "#!/lib64/no-such-loader.so\n", { mode: 0o755 })
  const binaries: Binaries = { ...locateBinaries(), native }
  const cluster = join(directory, "postgres")
  await assert.rejects(ensureCluster({ binaries, cluster, ...asOurselves, durable: false, log }), {
    name: "StartupError",
    message: /lacks the GNU C library/,
    hint: /SVC_DATABASE_URL/,
  })
})

/** An installation as npm makes it without install scripts: the library links are missing. */
const installWithoutLinks = (directory: string): Binaries => {
  const installed = locateBinaries()
  const native = join(directory, "native")
  cpSync(installed.native, native, { recursive: true, verbatimSymlinks: true })
  for (const name of readdirSync(join(native, "lib"))) {
    const path = join(native, "lib", name)
    if (lstatSync(path).isSymbolicLink()) rmSync(path)
  }
  return { ...installed, native }
}

const versionAs = (binaries: Binaries, account: Account | undefined): string =>
  execFileSync(programOf(binaries, "postgres"), ["--version"], {
    ...(account && { uid: account.uid, gid: account.gid }),
    env: {},
    cwd: "/",
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  })

test("library links that npm left out are made in place", async t => {
  const bare = installWithoutLinks(temporaryDir(t))
  assert.throws(() => versionAs(bare, undefined))
  const prepared = await prepareBinaries(bare, { account: undefined, stagingDir: temporaryDir(t), log })
  assert.equal(prepared.native, bare.native)
  assert.match(versionAs(prepared, undefined), /PostgreSQL\) 18\./)
})

test(
  "programs that PostgreSQL's user cannot reach are copied once, whole, to where he can",
  rootOnly,
  async t => {
    const closed = temporaryDir(t, { mode: 0o700 })
    const bare = installWithoutLinks(closed)
    chmodSync(join(bare.native, "share"), 0o700)
    const stagingDir = join(temporaryDir(t), "svc")
    const options = { account: nobody, stagingDir, log }
    const copies = await Promise.all([prepareBinaries(bare, options), prepareBinaries(bare, options)])
    for (const copy of copies) assert.match(versionAs(copy, nobody), /PostgreSQL\) 18\./)
    assert.deepEqual(readdirSync(stagingDir), [`runtime-${bare.version}-${process.platform}-${process.arch}`])

    const parent = temporaryDir(t, { uid: nobody.uid })
    const cluster = join(parent, "postgres")
    const users = { account: nobody, named: nobody, password: "only-in-tests" }
    await ensureCluster({ binaries: copies[0], cluster, ...users, durable: false, log })
    assert.ok(readdirSync(cluster).includes("PG_VERSION"))
  },
)
