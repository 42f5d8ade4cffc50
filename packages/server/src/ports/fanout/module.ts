import { readFile } from "node:fs/promises"
import { defineService } from "../../kernel/service.ts"
import { log } from "../../kernel/tokens.ts"
import { fanoutPort } from "./port.ts"
import { settings } from "./settings.ts"

export const fanoutService = defineService({
  provides: fanoutPort,
  settings,
  needs: { log },
  async open({ settings: { natsUrl, natsCredentialsFile, natsReplicas }, log }, { opened }) {
    if (natsUrl === undefined) return undefined
    const { openFanout } = await import("./index.ts")
    const credentials =
      natsCredentialsFile === undefined ? undefined : await readFile(natsCredentialsFile, "utf8")
    const fanout = openFanout({
      driver: "nats",
      url: natsUrl,
      credentials,
      replicas: natsReplicas,
      log: line => log.warn({ nats: line }, "NATS connection failed; changes by other processes arrive late"),
    })
    return opened.use(await fanout)
  },
})
