import { areasSettled } from "../../core/tokens.ts"
import { defineService } from "../../kernel/service.ts"
import { clock, database, installation, log } from "../../kernel/tokens.ts"
import { runtime } from "../../ports/runtime/port.ts"
import { settings } from "./settings.ts"
import { hosts } from "./token.ts"

export const hostsService = defineService({
  provides: hosts,
  settings,
  needs: { runtime, database, clock, log, installation, areasSettled },
  // Others send it work only once they know of it.
  atStart: given => given.settings.peerUrl !== undefined,
  async open({ settings: values, runtime, database, clock, log, installation, areasSettled }, { opened }) {
    const { createHosts } = await import("./hosts.ts")
    const host = await createHosts({
      runtime,
      database,
      clock,
      log,
      dataDir: installation.dataDir,
      url: values.peerUrl,
      capacity: { memoryBytes: values.workloadMemoryMb * 2 ** 20, workloadsMax: values.workloadsMax },
    })
    opened.use(host)
    // Not waited for: an area that has yet to say which of them are its own may be waiting for this driver.
    const removed = areasSettled().then(isKnown => (isKnown ? host.removeLeftovers() : undefined))
    opened.defer(() => removed)
    return host.hosts
  },
})
