import { defineService } from "../../kernel/service.ts"
import type { ValuesOf } from "../../kernel/setting.ts"
import { StartupError } from "../../kernel/startup-error.ts"
import { log, masterKey } from "../../kernel/tokens.ts"
import type { SecretsProvider } from "./index.ts"
import { secrets } from "./port.ts"
import { settings } from "./settings.ts"

const providerOf = (
  values: ValuesOf<typeof settings>,
  masterKey: Buffer,
  warn: (line: string) => void,
): SecretsProvider => {
  const { vaultAddress: address, vaultToken: token, vaultTokenFile: tokenFile } = values
  if (address === undefined) return { driver: "local", masterKey }
  if (token === undefined && tokenFile === undefined) {
    throw new StartupError(
      "SVC_VAULT_ADDR names a Vault, and there is no token for it.",
      "Set SVC_VAULT_TOKEN or SVC_VAULT_TOKEN_FILE.",
    )
  }
  return {
    driver: "vault",
    masterKey,
    address,
    token,
    tokenFile,
    ...values.vaultKey,
    namespace: values.vaultNamespace,
    caFile: values.vaultCaFile,
    warn,
  }
}

export const secretsService = defineService({
  provides: secrets,
  settings,
  needs: { masterKey, log },
  async open({ settings: values, masterKey, log }, { opened }) {
    const { openSecrets } = await import("./index.ts")
    const warn = (line: string) => log.warn({ secrets: line })
    return opened.use(await openSecrets(providerOf(values, masterKey, warn)))
  },
})
