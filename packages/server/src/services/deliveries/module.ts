import { fileURLToPath } from "node:url"
import { atRest, meters } from "../../core/tokens.ts"
import { defineService } from "../../kernel/service.ts"
import {
  changes,
  clock,
  database,
  fanout,
  jobs,
  log,
  metrics,
  outbound,
  retryDelayFactor,
} from "../../kernel/tokens.ts"
import { deliveries } from "./deliveries.ts"

export const deliveriesService = defineService({
  provides: deliveries,
  needs: {
    database,
    changes,
    fanout,
    clock,
    log,
    outbound,
    meters,
    jobs,
    metrics,
    delayFactor: retryDelayFactor,
    atRest,
  },
  migrations: { schema: "deliveries", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  queues: ["deliveries.days"],
  async open(given, { opened, onDrain }) {
    const { openDeliveries } = await import("./open.ts")
    const running = opened.use(openDeliveries(given))
    onDrain(running.drain)
    running.start()
    return running.deliveries
  },
})
