/** What a kill of the platform leaves of the software that a person installed in a computer. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc, type Svc } from "@svc/sdk"
import { isRoot, readFirstRun, type SvcProcess, spawnSvc } from "../../testing/process.ts"
import { run, runningComputer } from "./testing/computers.ts"

const connect = async (svc: SvcProcess): Promise<Svc> => {
  const baseUrl = await svc.ready
  return createSvc({ baseUrl, apiKey: readFirstRun(svc.dataDir).api_key, retries: 0 })
}

const INSTALL = `set -e
  printf 'echo mine' >/usr/local/bin/mine; chmod 755 /usr/local/bin/mine
  mkdir /usr/lib/mine; echo data >/usr/lib/mine/data; chown 6:12 /usr/lib/mine/data
  rm /usr/bin/env; mv /usr/bin/yes /usr/bin/yes2
  echo 'Package: mine' >>/var/lib/dpkg/status; echo set >/etc/mine.conf`

// Perl, because coreutils' stat does not work in gVisor before November 2023.
const LOOK = `mine; cat /usr/lib/mine/*; perl -e 'print join(":", (stat "/usr/lib/mine/data")[4, 5]), "\\n"'
  test -e /usr/bin/env || echo gone; test -e /usr/bin/yes || yes2 moved | head -1
  grep -c '^Package: mine$' /var/lib/dpkg/status; cat /etc/mine.conf`

const seen = (data: string) => `mine\n${data}6:12\ngone\nmoved\n1\nset\n`

for (const SVC_RUNTIME of ["process", "bubblewrap", "gvisor"])
  test(`software installed in a computer is there after kills of the platform: ${SVC_RUNTIME}`, async t => {
    if (!isRoot) return t.skip("it takes root")
    const env = { SVC_RUNTIME }
    let platform = spawnSvc(t, { env })
    const missing = await platform.ready.then(
      () => undefined,
      () => platform.stderr(),
    )
    if (missing?.includes("SVC_RUNTIME")) return t.skip(missing)
    let svc = await connect(platform)
    const running = await runningComputer(svc, "running")
    const written = await run(svc, running, "touch /usr/bin/new && rm /usr/bin/new && echo yes", "root")
    if (written !== "yes\n") return t.skip("programs are read-only here")
    const stopped = await runningComputer(svc, "stopped")
    for (const id of [running, stopped]) await run(svc, id, INSTALL, "root")
    await svc.computers.stop({ id: stopped })

    let data = "data\n"
    for (const name of ["first", "second"]) {
      platform.signal("SIGKILL")
      await platform.exited
      platform = spawnSvc(t, { dataDir: platform.dataDir, env })
      svc = await connect(platform)
      assert.equal(await run(svc, running, LOOK, "root"), seen(data))
      // It is changed as before, and the next kill takes nothing of that either.
      await run(svc, running, `echo ${name} >/usr/lib/mine/${name}`, "root")
      data += `${name}\n`
    }
    await svc.computers.start({ id: stopped })
    assert.equal(await run(svc, stopped, LOOK, "root"), seen("data\n"))
    const other = await runningComputer(svc, "other")
    const untouched = "test -e /usr/bin/env && echo env; test -e /usr/local/bin/mine || echo own"
    assert.equal(await run(svc, other, untouched, "root"), "env\nown\n")
    assert.deepEqual(await platform.stop(), { code: 0, signal: null })
  })
