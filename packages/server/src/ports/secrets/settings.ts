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
    otherwise: "none: the master key wraps the keys of tenants",
    meaning: "A HashiCorp Vault or OpenBao whose transit engine wraps the keys of tenants.",
    parse: url("http:", "https:"),
  },
  vaultToken: {
    variable: "SVC_VAULT_TOKEN",
    otherwise: "none",
    meaning: "Token for Vault; it is renewed while Vault allows it.",
    secret: true,
    parse: optional,
  },
  vaultTokenFile: {
    variable: "SVC_VAULT_TOKEN_FILE",
    otherwise: "none",
    meaning: "File that holds the token in place of SVC_VAULT_TOKEN, kept fresh by a Vault agent.",
    parse: optional,
  },
  vaultNamespace: {
    variable: "SVC_VAULT_NAMESPACE",
    otherwise: "none",
    meaning: "Namespace of Vault in which the transit engine is.",
    parse: optional,
  },
  vaultKey: {
    variable: "SVC_VAULT_KEY",
    otherwise: "transit/keys/svc",
    meaning: "Path of the transit key: the engine's mount, `keys`, and the key's name.",
    parse: transitKey,
  },
  vaultCaFile: {
    variable: "SVC_VAULT_CA_FILE",
    otherwise: "the authorities that Node.js trusts",
    meaning: "File with the certificates (PEM) that Vault's own is checked against.",
    parse: optional,
  },
} as const satisfies Settings
