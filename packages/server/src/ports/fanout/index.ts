/** Provider name → driver. A driver's library is loaded only when it is the one chosen. */
import type { NatsOptions } from "./drivers/nats/driver.ts"
import type { FanoutPort } from "./port.ts"

export type FanoutProvider = { readonly driver: "nats" } & NatsOptions

export const openFanout = async (provider: FanoutProvider): Promise<FanoutPort> =>
  (await import("./drivers/nats/driver.ts")).openNatsFanout(provider)
