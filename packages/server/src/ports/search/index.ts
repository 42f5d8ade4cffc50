/** Provider name → driver. A driver's library is loaded only when it is the one chosen. */
import type { OpenSearchOptions } from "./drivers/opensearch/driver.ts"
import type { PostgresSearchOptions } from "./drivers/postgres/driver.ts"
import type { SearchPort } from "./port.ts"

export type SearchProvider =
  | ({ readonly driver: "postgres" } & PostgresSearchOptions)
  | ({ readonly driver: "opensearch" } & OpenSearchOptions)

export const openSearch = async (provider: SearchProvider): Promise<SearchPort> => {
  switch (provider.driver) {
    case "postgres":
      return (await import("./drivers/postgres/driver.ts")).openPostgresSearch(provider)
    case "opensearch":
      return (await import("./drivers/opensearch/driver.ts")).openOpenSearch(provider)
  }
}
