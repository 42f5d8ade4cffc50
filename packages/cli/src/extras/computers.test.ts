import assert from "node:assert/strict"
import { chmod, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { everyScope, platform } from "../../../server/src/testing/platform.ts"
import { openFolder, openShell } from "../testing/command.ts"

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
  assert.deepEqual([plain.code, plain.out], [9, `-p\n${ssh_port}\n${id}@${ssh_host}\n`], plain.err)
  const root = await run(["computers", "ssh", id, "--root", "--", "ls", "-la"])
  assert.equal(root.out, `-p\n${ssh_port}\nroot+${id}@${ssh_host}\nls\n-la\n`)
  const missing = await run(["computers", "ssh", "no-such"])
  assert.deepEqual([missing.code, missing.out], [2, ""])
  assert.match(missing.err, /there is no computer no-such/)
})
