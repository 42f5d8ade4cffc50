/** The ssh port as OpenSSH's own programs use it. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { accessSync, constants, existsSync } from "node:fs"
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { Svc } from "@svc/sdk"
import { platform, type TestPlatform } from "../../../testing/platform.ts"
import { run, runningComputer, SCOPES } from "../testing/computers.ts"
import { keyPair } from "../testing/ssh.ts"

const skip = ["ssh", "sftp", "scp"].every(name => existsSync(`/usr/bin/${name}`))
  ? false
  : "the package openssh-client is not installed"
const ends: (() => unknown)[] = []
const forAll = { after: (end: () => unknown) => void ends.unshift(end) }

let p: TestPlatform
let svc: Svc
let id: string
let port: number
let folder: string

before(async () => {
  if (skip) return
  folder = await mkdtemp(join(tmpdir(), "svc-openssh-"))
  forAll.after(() => rm(folder, { recursive: true, force: true }))
  const keys = (["ed25519", "ecdsa", "rsa"] as const).map(type => ({ type, ...keyPair(type) }))
  for (const { type, privateKey } of keys) await writeFile(join(folder, type), privateKey, { mode: 0o600 })
  p = await platform(forAll)
  svc = await p.client("acme", ...SCOPES)
  id = await runningComputer(svc, "web1", { ssh_keys: keys.map(({ publicKey }) => publicKey) })
  port = (await svc.computers.get({ id })).ssh_port ?? 0
})
after(async () => {
  for (const end of ends) await end()
})

const options = (type = "ed25519") => [
  ...["-F", "none", "-i", join(folder, type), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"],
  ...["-o", "StrictHostKeyChecking=accept-new", "-o", `UserKnownHostsFile=${join(folder, "known")}`],
  ...["-o", "LogLevel=ERROR"],
]

/** Runs a program of OpenSSH's to its end. */
const start = (program: string, words: readonly string[], input = "") =>
  new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
    const child = execFile(program, [...words], { timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
    )
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(input)
  })
const ssh = (words: readonly string[], input = "", type = "ed25519") =>
  start("ssh", [...options(type), "-p", String(port), ...words], input)

test("ssh runs commands with keys of every type, and ends as they do", { skip }, async () => {
  for (const type of ["ed25519", "ecdsa", "rsa"]) {
    const answer = await ssh(["web1@127.0.0.1", "cat; id -un >&2; exit 5"], "typed", type)
    assert.deepEqual(answer, { code: 5, stdout: "typed", stderr: "user\n" }, type)
  }
  const root = await ssh(["root+web1@127.0.0.1", "id -u; head -c 3000000 /dev/zero | wc -c"])
  assert.deepEqual([root.code, root.stdout], [0, "0\n3000000\n"])
  const terminal = await ssh(["-tt", "web1@127.0.0.1", "tty; stty size | wc -w"])
  assert.match(terminal.stdout, /^\/dev\/pts\/\d+\r\n2\r\n$/)
  const nobody = await ssh(["no-such@127.0.0.1", "true"])
  assert.deepEqual([nobody.code, nobody.stdout], [255, ""])
  assert.match(nobody.stderr, /Permission denied \(publickey\)/)
})

test("ssh reaches a port of the computer itself", { skip }, async () => {
  const program =
    '$|=1; $s=IO::Socket::INET->new(LocalAddr=>"127.0.0.1:7000",Listen=>5) or die; print "up\\n"; $c=$s->accept; print $c uc <$c>'
  const started = await svc.computers.exec({
    id,
    command: `perl -MIO::Socket::INET -e '${program}' > /tmp/up 2>&1 & while [ ! -s /tmp/up ]; do sleep 0.05; done`,
  })
  assert.equal(started.exit_code, 0)
  const answer = await ssh(["-W", "localhost:7000", "web1@127.0.0.1"], "hello\n")
  assert.equal(answer.stdout, "HELLO\n")
})

test("sftp lists, moves, links and removes files as the computer's user, and root's are not his", {
  skip,
}, async () => {
  const local = join(folder, "up.bin")
  const bytes = Buffer.alloc(2_500_000, "svc ssh ")
  await writeFile(local, bytes, { mode: 0o640 })
  const batch = [
    "mkdir work",
    `put -p ${local} work/up.bin`,
    "chmod 755 work/up.bin",
    "ln -s up.bin work/link",
    "ln work/up.bin work/hard",
    "rename work/up.bin work/moved.bin",
    "symlink moved.bin work/second",
    "ls -l work",
    "cd work",
    "pwd",
    `get -p moved.bin ${join(folder, "down.bin")}`,
    "rm link",
    "mkdir empty",
    "rmdir empty",
  ]
  const words = [...options(), "-P", String(port), "-b", "-", "web1@127.0.0.1"]
  const answer = await start("sftp", words, `${batch.join("\n")}\n`)
  assert.deepEqual([answer.code, answer.stderr], [0, ""])
  assert.match(answer.stdout, /-rwxr-xr-x +2 user +user +2500000 .* moved\.bin/)
  assert.match(answer.stdout, /lrwxrwxrwx .* link/)
  assert.match(answer.stdout, /Remote working directory: \/home\/user\/work/)
  assert.equal(bytes.equals(await readFile(join(folder, "down.bin"))), true)
  assert.equal((await stat(join(folder, "down.bin"))).mode & 0o777, 0o755)
  assert.equal(
    await run(svc, id, "cd ~/work && ls && readlink second"),
    "hard\nmoved.bin\nsecond\nmoved.bin\n",
  )

  await run(svc, id, "echo secret > /srv/secret; chmod 600 /srv/secret", "root")
  const denied = await start("sftp", words, `get /srv/secret ${join(folder, "secret")}\n`)
  assert.equal(denied.code, 1)
  assert.match(denied.stderr, /Permission denied/)
  const missing = await start("sftp", words, "get no-such\n")
  assert.match(missing.stderr, /not found/)
})

test("scp copies a tree there and back", { skip }, async () => {
  const tree = join(folder, "tree")
  const { execPath } = process
  await start(execPath, [
    "-e",
    `const fs=require("fs");fs.mkdirSync(process.argv[1]+"/a/b",{recursive:true});
     for(let n=0;n<30;n++)fs.writeFileSync(process.argv[1]+"/a/b/"+n,"x".repeat(n*1000))`,
    tree,
  ])
  const common = [...options(), "-P", String(port), "-r"]
  const up = await start("scp", [...common, tree, "web1@127.0.0.1:copied"])
  assert.deepEqual([up.code, up.stderr], [0, ""])
  const down = await start("scp", [...common, "root+web1@127.0.0.1:/home/user/copied", join(folder, "back")])
  assert.deepEqual([down.code, down.stderr], [0, ""])
  const differing = await start("diff", ["-r", tree, join(folder, "back")])
  assert.deepEqual([differing.code, differing.stdout], [0, ""])
  accessSync(join(folder, "back/a/b/29"), constants.R_OK)
})

test("every process of an installation has the same host key", { skip }, async () => {
  const second = await platform(forAll, { databaseUrl: p.database.pool.options.connectionString ?? "" })
  const far = second.as((await p.key("acme", SCOPES)).secret)
  const { ssh_port } = await far.computers.get({ id })
  const known = await readFile(join(folder, "known"), "utf8")
  await writeFile(join(folder, "known"), known.replaceAll(`:${port} `, `:${ssh_port} `))
  const strict = ["-o", "StrictHostKeyChecking=yes", ...options(), "-p", String(ssh_port)]
  const answer = await start("ssh", [...strict, "web1@127.0.0.1", "true"])
  assert.equal(answer.code, 255)
  assert.match(answer.stderr, /svc: the computer is on another machine of this cloud/)
})
