/** Provider name → driver. A driver's library is loaded only when it is the one chosen. */
import type { KvPort } from "./port.ts"

export type KvProvider =
  | { readonly driver: "lmdb"; readonly path: string }
  /** `redis://`, `rediss://` or `unix:///path/to/socket`. */
  | { readonly driver: "redis"; readonly url: string }

export const openKv = async (provider: KvProvider): Promise<KvPort> => {
  switch (provider.driver) {
    case "lmdb":
      return (await import("./drivers/lmdb/driver.ts")).openLmdbKv(provider)
    case "redis":
      return (await import("./drivers/redis/driver.ts")).openRedisKv(provider)
  }
}
