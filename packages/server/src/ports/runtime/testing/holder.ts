/** A platform's process to be killed: starts workloads with the driver and of the ids that its arguments name, and waits. */

import { specOf } from "../conformance/fixture.ts"
import { openRuntime, type RuntimeDriver } from "../index.ts"

const [driver = "", dataDir = "", marker = "", kept = "", ...others] = process.argv.slice(2)
const demand = driver as RuntimeDriver
const { SVC_DOCKER_HOST: dockerHost, SVC_QEMU_KERNEL: qemuKernel } = process.env
const { SVC_RUNSC: runsc, SVC_KUBERNETES_CONFIG: config } = process.env
const runtime = await openRuntime({
  ...{ dataDir, demand, refusesWeak: false, runsc, log: () => undefined },
  ...(dockerHost !== undefined && { dockerHost }),
  ...(qemuKernel !== undefined && { qemuKernel }),
  ...(config !== undefined && { kubernetes: { config } }),
})
for (const id of [kept, ...others]) {
  const kind = id === kept ? "persistent" : "memory"
  const guest = await runtime.start(specOf({ id, disk: { kind, bytes: 32 * 2 ** 20 } }))
  const deaf = `trap "" TERM HUP INT; echo kept >/workspace/file; echo up; while :; do sleep 1000${marker}; done`
  const { stdout } = await guest.exec({ argv: ["/bin/sh", "-c", `(setsid sh -c '${deaf}' &) ; ${deaf}`] })
  let said = ""
  for await (const part of stdout) {
    said += part
    if (said === "up\nup\n") break
  }
  // The last one cannot even see that its platform is gone.
  if (id === others.at(-1) && runtime.capabilities.freeze) await guest.freeze()
}
process.stdout.write("ready\n")
setInterval(() => undefined, 1_000)
