/** The settings of the platform itself. Those of areas, ports and services lie with them. */
import { isIP } from "node:net"
import { resolve } from "node:path"
import type { Settings } from "./kernel/setting.ts"
import { cidrs, fraction, integer, nameServers, optional, url, word } from "./kernel/setting-parsers.ts"

export const settings = {
  host: {
    variable: "SVC_HOST",
    otherwise: "127.0.0.1",
    meaning: "Address to listen on; 0.0.0.0 for all of this machine's.",
    parse: (text = "127.0.0.1") => {
      if (isIP(text) === 0 && text !== "localhost") throw new RangeError("must be an IP address")
      return text
    },
  },
  port: {
    variable: "SVC_PORT",
    otherwise: "4800",
    meaning: "Port to listen on.",
    parse: integer(0, 65_535, 4800),
  },
  baseUrl: {
    variable: "SVC_BASE_URL",
    otherwise: "http://localhost:<port>",
    meaning: "The address that people and machines reach this installation at.",
    parse: url("http:", "https:"),
  },
  dataDir: {
    variable: "SVC_DATA_DIR",
    otherwise: ".svc",
    meaning: "Folder of everything that is kept on this machine.",
    parse: (text = ".svc") => resolve(text),
  },
  mode: {
    variable: "SVC_MODE",
    otherwise: "development",
    meaning: "`production` refuses what is only good enough for a laptop.",
    parse: word("development", "production"),
  },
  databaseUrl: {
    variable: "SVC_DATABASE_URL",
    otherwise: "an embedded PostgreSQL 18",
    meaning: "Control database: any PostgreSQL from version 16.",
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
    otherwise: "10",
    meaning: "Connections this process may open to the control database.",
    parse: integer(2, 500, 10),
  },
  runAs: {
    variable: "SVC_RUN_AS",
    otherwise: "the owner of the data folder, or users of the engines' own that have no name",
    meaning: "User of the embedded engines when Svc is started by root.",
    parse: optional,
  },
  masterKey: {
    variable: "SVC_MASTER_KEY",
    otherwise: "master.key in the data folder, made on the first start",
    meaning: "32 bytes of base64 that protect what the platform seals.",
    secret: true,
    parse: optional,
  },
  masterKeyFile: {
    variable: "SVC_MASTER_KEY_FILE",
    otherwise: "master.key in the data folder",
    meaning:
      "Where the master key lies, made on the first start. Name a place outside the data folder, or a backup of that folder holds the key beside what it protects.",
    parse: optional,
  },
  encryptAtRest: {
    variable: "SVC_ENCRYPT_AT_REST",
    otherwise: "off",
    meaning:
      "`on`: values of the key-value store, code and payloads of functions, data of events, and bodies of e-mails are encrypted with the tenant's key before they are stored. What is stored is read in either case.",
    parse: word("off", "on"),
  },
  rateLimit: {
    variable: "SVC_RATE_LIMIT",
    otherwise: "plan",
    meaning: "`off` lifts the request limits of plans and addresses, for benchmarks.",
    parse: word("plan", "off"),
  },
  authRateLimit: {
    variable: "SVC_AUTH_RATE_LIMIT",
    otherwise: "on",
    meaning: "`off` lifts the limit of three log-ins a minute and address, for tests.",
    parse: word("on", "off"),
  },
  signup: {
    variable: "SVC_SIGNUP",
    otherwise: "open",
    meaning: "`closed` lets people in by invitation only.",
    parse: word("open", "closed"),
  },
  trustedProxies: {
    variable: "SVC_TRUSTED_PROXIES",
    otherwise: "none",
    meaning: "Addresses or CIDRs, separated by commas, whose X-Forwarded-For is believed.",
    parse: cidrs,
  },
  outboundAllow: {
    variable: "SVC_OUTBOUND_ALLOW",
    otherwise: "none",
    meaning:
      "Addresses or CIDRs, separated by commas, that URLs of users may lead to though they are not on the public Internet.",
    parse: cidrs,
  },
  dnsServers: {
    variable: "SVC_DNS_SERVERS",
    otherwise: "the system's",
    meaning:
      "Name servers, separated by commas, that hosts of users' URLs and domains are looked up at: `1.1.1.1`, `[::1]:5353`.",
    parse: nameServers,
  },
  retryDelayFactor: {
    variable: "SVC_RETRY_DELAY_FACTOR",
    otherwise: "1",
    meaning:
      "What all delays between attempts of a delivery are taken times: 0.001 makes seconds of hours, for tests.",
    parse: fraction,
  },
  metricsToken: {
    variable: "SVC_METRICS_TOKEN",
    otherwise: "none: /metrics answers callers of this machine only",
    meaning: "Bearer token that lets others read /metrics.",
    secret: true,
    parse: optional,
  },
  logLevel: {
    variable: "SVC_LOG_LEVEL",
    otherwise: "warn",
    meaning: "How much is logged, as JSON lines on the error output.",
    parse: word("warn", "trace", "debug", "info", "error", "fatal", "silent"),
  },
} as const satisfies Settings
