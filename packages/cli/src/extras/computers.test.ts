import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { chmod, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { keyPair } from "../../../server/src/areas/computers/testing/ssh.ts"
import { eventually } from "../../../server/src/testing/eventually.ts"
import { everyScope, platform } from "../../../server/src/testing/platform.ts"
import { openFolder, openShell, runProgram } from "../testing/command.ts"

test("ssh is started with the computer's address and name, and gives its exit code back", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const folder = await openFolder(t)
  const fake = join(folder, "ssh")
  await writeFile(fake, '#!/bin/sh\nprintf "%s\\n" "$@"\nexit 9\n')
  await chmod(fake, 0o755)
  const shell = await openShell(t, p.url, secret)
  const env = { PATH: `${folder}:${process.env.PATH}` }
  const run = (words: readonly string[]) => shell.run(words, { env })
  const { id, ssh_host, ssh_port } = await p.as(secret).computers.create({ name: "web1", memory_mb: 256 })
  const plain = await run(["computers", "ssh", "web1"])
  const known = /^-o\nUserKnownHostsFile="[^"]+"\n-o\nStrictHostKeyChecking=yes\n/
  assert.match(plain.out, known)
  assert.deepEqual(
    [plain.code, plain.out.replace(known, "")],
    [9, `-p\n${ssh_port}\n${id}@${ssh_host}\n`],
    plain.err,
  )
  const root = await run(["computers", "ssh", id, "--root", "--", "ls", "-la"])
  assert.equal(root.out.replace(known, ""), `-p\n${ssh_port}\nroot+${id}@${ssh_host}\nls\n-la\n`)
  const missing = await run(["computers", "ssh", "no-such"])
  assert.deepEqual([missing.code, missing.out], [2, ""])
  assert.match(missing.err, /there is no computer no-such/)
})

test("the host key of ssh is known without a question, and another one is refused", async t => {
  if (!existsSync("/usr/bin/ssh")) return t.skip("the package openssh-client is not installed")
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const { publicKey, privateKey } = keyPair("ed25519")
  const folder = await openFolder(t)
  const identity = join(folder, "id")
  await writeFile(identity, privateKey, { mode: 0o600 })
  const shell = await openShell(t, p.url, secret)
  const svc = p.as(secret)
  const made = await svc.computers.create({ name: "web1", memory_mb: 256, ssh_keys: [publicKey] })
  await eventually("it runs", async () => (await svc.computers.get({ id: made.id })).status === "RUNNING")
  const options = ["-i", identity, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
  const ran = await shell.run(["computers", "ssh", "web1", "--", ...options, "echo there; exit 3"])
  assert.deepEqual([ran.code, ran.out], [3, "there\n"], ran.err)

  const file = join(folder, "host.pub")
  await writeFile(file, made.ssh_host_key ?? "")
  const shown = await runProgram("/usr/bin/ssh-keygen", ["-l", "-f", file], {}, "")
  assert.ok(shown.out.includes(` ${made.ssh_host_fingerprint} `), shown.out)
})
