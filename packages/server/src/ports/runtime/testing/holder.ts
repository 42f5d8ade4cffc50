/** A platform's process to be killed: starts the workloads that its arguments name, and waits. */

import { specOf } from "../conformance/fixture.ts"
import { openProcessRuntime } from "../drivers/process/driver.ts"

const [dataDir = "", marker = "", kept = "", ...others] = process.argv.slice(2)
const runtime = await openProcessRuntime({ dataDir, log: () => undefined })
for (const id of [kept, ...others]) {
  const kind = id === kept ? "persistent" : "memory"
  const guest = await runtime.start(specOf({ id, disk: { kind, bytes: 32 * 2 ** 20 } }))
  const deaf = `trap "" TERM HUP INT; echo kept >/workspace/file; while :; do sleep 1000${marker}; done`
  await guest.exec({ argv: ["/bin/sh", "-c", `(setsid sh -c '${deaf}' &) ; ${deaf}`] })
  // The last one cannot even see that its platform is gone.
  if (id === others.at(-1) && runtime.capabilities.freeze) await guest.freeze()
}
process.stdout.write("ready\n")
setInterval(() => undefined, 1_000)
