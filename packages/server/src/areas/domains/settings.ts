import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { domainName, mailAddress, optional, portOrOff, url } from "../../kernel/setting-parsers.ts"

const DIRECTORIES: Readonly<Record<string, string>> = {
  letsencrypt: "https://acme-v02.api.letsencrypt.org/directory",
  "letsencrypt-staging": "https://acme-staging-v02.api.letsencrypt.org/directory",
}

const directory = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : (DIRECTORIES[text] ?? url("https:")(text))

export const settings = {
  domainsHost: {
    variable: "SVC_DOMAINS_HOST",
    default:
      "domains.localhost where SVC_BASE_URL is of localhost; else none, and custom domains are proven by TXT records alone",
    description:
      "Domain below which custom domains are pointed by CNAME: all names below it (`*.domain`) must resolve to this server.",
    parse: domainName,
  },
  tlsPort: {
    variable: "SVC_TLS_PORT",
    default: "off",
    description:
      "Port of HTTPS, HTTP/2 among it, for custom domains and, with SVC_TLS_CERT_FILE, for every other name of this server.",
    parse: portOrOff,
  },
  tlsCertFile: {
    variable: "SVC_TLS_CERT_FILE",
    default: "none",
    description:
      "File of the certificate for names that are no custom domains, with those that signed it, PEM. Read at the start.",
    parse: optional,
  },
  tlsKeyFile: {
    variable: "SVC_TLS_KEY_FILE",
    default: "none",
    description: "File of the private key of SVC_TLS_CERT_FILE, PEM.",
    parse: optional,
  },
  acmeDirectory: {
    variable: "SVC_ACME_DIRECTORY",
    default: "none, and certificates of custom domains are uploaded",
    description:
      "Authority that issues certificates of custom domains by ACME (RFC 8555): `letsencrypt`, `letsencrypt-staging`, or the URL of a directory. It must reach this server on port 80. Naming it accepts its terms.",
    parse: directory,
  },
  acmeEmail: {
    variable: "SVC_ACME_EMAIL",
    default: "none",
    description: "Address that the authority may write to.",
    parse: mailAddress,
  },
} as const satisfies Settings

/** What the CNAME records of custom domains point below; undefined where the operator has no such name. */
export const cnameHostOf = (
  { domainsHost }: Pick<ValuesOf<typeof settings>, "domainsHost">,
  baseUrl: string,
): string | undefined =>
  domainsHost ?? (new URL(baseUrl).hostname === "localhost" ? "domains.localhost" : undefined)
