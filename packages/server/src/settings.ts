/** The settings of the platform itself. Those of areas, ports and services lie with them. */
import { isIP } from "node:net"
import { resolve } from "node:path"
import type { Settings } from "./kernel/setting.ts"
import { cidrs, fraction, integer, nameServers, optional, url, word } from "./kernel/setting-parsers.ts"

export const settings = {
  host: {
    variable: "SVC_HOST",
    default: "127.0.0.1",
    description: "Address to listen on; 0.0.0.0 for all addresses of this machine.",
    parse: (text = "127.0.0.1") => {
      if (isIP(text) === 0 && text !== "localhost") throw new RangeError("must be an IP address")
      return text
    },
  },
  port: {
    variable: "SVC_PORT",
    default: "4800",
    description: "Port to listen on.",
    parse: integer(0, 65_535, 4800),
  },
  baseUrl: {
    variable: "SVC_BASE_URL",
    default: "http://localhost:<port>",
    description: "Public address of this installation, for links and redirects.",
    parse: url("http:", "https:"),
  },
  dataDir: {
    variable: "SVC_DATA_DIR",
    default: ".svc",
    description: "Folder for all data that is stored on this machine.",
    parse: (text = ".svc") => resolve(text),
  },
  mode: {
    variable: "SVC_MODE",
    default: "development",
    description: "`production` rejects settings that are only good for development, such as weak isolation.",
    parse: word("development", "production"),
  },
  databaseUrl: {
    variable: "SVC_DATABASE_URL",
    default: "an embedded PostgreSQL 18",
    description: "Control database: any PostgreSQL from version 16.",
    secret: true,
    // Not the parser of web addresses: a socket folder stands where a host would, as in postgres://user@/name?host=/run.
    parse: (text: string | undefined) => {
      if (text !== undefined && !/^postgres(ql)?:\/\/./.test(text))
        throw new RangeError("must start with postgres://")
      return text
    },
  },
  databaseConnectionsMax: {
    variable: "SVC_DATABASE_CONNECTIONS",
    default: "10",
    description: "Largest number of connections of this process to the control database.",
    parse: integer(2, 500, 10),
  },
  runAs: {
    variable: "SVC_RUN_AS",
    default: "the owner of the data folder, or unnamed users for the engines",
    description: "User that runs the embedded engines when the server is started as root.",
    parse: optional,
  },
  masterKey: {
    variable: "SVC_MASTER_KEY",
    default: "master.key in the data folder, created on the first start",
    description: "32 bytes in base64 that encrypt all stored secrets.",
    secret: true,
    parse: optional,
  },
  masterKeyFile: {
    variable: "SVC_MASTER_KEY_FILE",
    default: "master.key in the data folder",
    description:
      "File with the master key, created on the first start. Choose a place outside the data folder, so that a backup of the folder does not contain the key.",
    parse: optional,
  },
  encryptAtRest: {
    variable: "SVC_ENCRYPT_AT_REST",
    default: "off",
    description:
      "`on`: values of the key-value store, code and payloads of functions, data of events, and bodies of e-mails are encrypted with the tenant's key before they are stored. Data that is stored already can be read in either case.",
    parse: word("off", "on"),
  },
  rateLimit: {
    variable: "SVC_RATE_LIMIT",
    default: "plan",
    description: "`off` disables the request limits of plans and addresses, for benchmarks.",
    parse: word("plan", "off"),
  },
  signInRateLimit: {
    variable: "SVC_AUTH_RATE_LIMIT",
    default: "on",
    description: "`off` disables the limit of three sign-ins per minute and address, for tests.",
    parse: word("on", "off"),
  },
  signup: {
    variable: "SVC_SIGNUP",
    default: "open",
    description: "`closed` allows sign-up by invitation only.",
    parse: word("open", "closed"),
  },
  trustedProxies: {
    variable: "SVC_TRUSTED_PROXIES",
    default: "none",
    description:
      "Addresses or CIDR ranges of proxies, separated by commas, whose X-Forwarded-For header is trusted.",
    parse: cidrs,
  },
  outboundAllow: {
    variable: "SVC_OUTBOUND_ALLOW",
    default: "none",
    description:
      "Addresses or CIDR ranges, separated by commas, that URLs of users may lead to although they are not public.",
    parse: cidrs,
  },
  dnsServers: {
    variable: "SVC_DNS_SERVERS",
    default: "the system's",
    description:
      "Name servers, separated by commas, that resolve hosts of users' URLs and domains: `1.1.1.1`, `[::1]:5353`.",
    parse: nameServers,
  },
  retryDelayFactor: {
    variable: "SVC_RETRY_DELAY_FACTOR",
    default: "1",
    description:
      "Factor of all delays between attempts of a delivery, for tests: 0.001 turns hours into seconds.",
    parse: fraction,
  },
  metricsToken: {
    variable: "SVC_METRICS_TOKEN",
    default: "none: /metrics serves callers of this machine only",
    description: "Bearer token that allows other callers to read /metrics.",
    secret: true,
    parse: optional,
  },
  logLevel: {
    variable: "SVC_LOG_LEVEL",
    default: "warn",
    description: "Least severe level that is logged, as JSON lines on standard error.",
    parse: word("warn", "trace", "debug", "info", "error", "fatal", "silent"),
  },
} as const satisfies Settings
