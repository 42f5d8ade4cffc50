import type { Settings } from "../../kernel/setting.ts"
import { optional, url } from "../../kernel/setting-parsers.ts"

/** `teams/cloud/transit/keys/svc` */
export const transitKey = (
  text = "transit/keys/svc",
): { readonly mount: string; readonly keyName: string } => {
  const [, mount, keyName] = /^([\w./-]+)\/keys\/([\w.-]+)$/.exec(text) ?? []
  if (mount === undefined || keyName === undefined) throw new RangeError("must look like transit/keys/svc")
  return { mount, keyName }
}

export const settings = {
  vaultAddress: {
    variable: "SVC_VAULT_ADDR",
    default: "none: the master key encrypts the keys of tenants",
    description: "Address of a HashiCorp Vault or OpenBao whose transit engine encrypts the keys of tenants.",
    parse: url("http:", "https:"),
  },
  vaultToken: {
    variable: "SVC_VAULT_TOKEN",
    default: "none",
    description: "Token for Vault; it is renewed as long as Vault allows.",
    secret: true,
    parse: optional,
  },
  vaultTokenFile: {
    variable: "SVC_VAULT_TOKEN_FILE",
    default: "none",
    description: "File with the token, maintained by a Vault agent, instead of SVC_VAULT_TOKEN.",
    parse: optional,
  },
  vaultNamespace: {
    variable: "SVC_VAULT_NAMESPACE",
    default: "none",
    description: "Namespace of the transit engine in Vault.",
    parse: optional,
  },
  vaultKey: {
    variable: "SVC_VAULT_KEY",
    default: "transit/keys/svc",
    description: "Path of the transit key: the engine's mount, `keys`, and the key's name.",
    parse: transitKey,
  },
  vaultCaFile: {
    variable: "SVC_VAULT_CA_FILE",
    default: "the authorities that Node.js trusts",
    description: "File with the certificates (PEM) that verify the certificate of Vault.",
    parse: optional,
  },
} as const satisfies Settings
