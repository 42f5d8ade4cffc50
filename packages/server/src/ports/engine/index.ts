/** Provider name → driver. A driver's modules are loaded only when it is the one chosen. */
import type { CnpgOptions } from "./drivers/cnpg/driver.ts"
import type { LocalEngineOptions } from "./drivers/local/driver.ts"
import type { EnginePort } from "./port.ts"

export type { CnpgOptions }

export type EngineProvider =
  | ({ readonly driver: "local" } & LocalEngineOptions)
  | ({ readonly driver: "cnpg" } & CnpgOptions)

export const openEngine = async (provider: EngineProvider): Promise<EnginePort> => {
  switch (provider.driver) {
    case "local":
      return (await import("./drivers/local/driver.ts")).openLocalEngine(provider)
    case "cnpg":
      return (await import("./drivers/cnpg/driver.ts")).openCnpgEngine(provider)
  }
}
