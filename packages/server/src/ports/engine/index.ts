/** Provider name → driver. */
import { type LocalEngineOptions, openLocalEngine } from "./drivers/local/driver.ts"
import type { EnginePort } from "./port.ts"

export type EngineProvider = { readonly driver: "local" } & LocalEngineOptions

export const openEngine = async (provider: EngineProvider): Promise<EnginePort> => {
  switch (provider.driver) {
    case "local":
      return openLocalEngine(provider)
  }
}
