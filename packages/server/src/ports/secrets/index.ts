/** Provider name → driver. A driver is loaded only when it is the one chosen. */
import { PortError } from "../port-error.ts"
import { LOCAL_PREFIX, openLocalSecrets } from "./drivers/local/driver.ts"
import type { VaultOptions } from "./drivers/vault/driver.ts"
import type { SecretsPort } from "./port.ts"

export type SecretsProvider = { readonly masterKey: Uint8Array } & (
  | { readonly driver: "local" }
  | ({ readonly driver: "vault" } & VaultOptions)
)

/**
 * The engine that wraps from now on. What the master key wrapped before another engine was chosen opens too, for the
 * platform always holds it.
 */
export const openSecrets = async (provider: SecretsProvider): Promise<SecretsPort> => {
  const local = openLocalSecrets(provider)
  if (provider.driver === "local") {
    return {
      ...local,
      async unwrap(wrapped, context) {
        if (wrapped.startsWith(LOCAL_PREFIX)) return local.unwrap(wrapped, context)
        throw new PortError("unavailable", "the key was wrapped by Vault, and SVC_VAULT_ADDR names none")
      },
    }
  }
  const { openVaultSecrets } = await import("./drivers/vault/driver.ts")
  const vault = openVaultSecrets(provider)
  return {
    ...vault,
    unwrap: (wrapped, context) => (wrapped.startsWith(LOCAL_PREFIX) ? local : vault).unwrap(wrapped, context),
  }
}
