/** Every setting: its variable, type, default and meaning. */
import { isIP } from "node:net"
import { resolve } from "node:path"
import {
  bucketUrl,
  cidrs,
  domainName,
  indexName,
  integer,
  nameServers,
  optional,
  transitKey,
  url,
  word,
} from "./config-parsers.ts"
import type { Setting } from "./setting.ts"
import { databaseSettings } from "./settings-databases.ts"
import { messagingSettings } from "./settings-messaging.ts"
import { workloadSettings } from "./settings-workloads.ts"

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
  kvUrl: {
    variable: "SVC_KV_URL",
    otherwise: "LMDB in the data folder",
    meaning: "Key-value engine: a Valkey or Redis.",
    secret: true,
    parse: url("redis:", "rediss:", "unix:"),
  },
  s3Domain: {
    variable: "SVC_S3_DOMAIN",
    otherwise:
      "s3.localhost where SVC_BASE_URL is of localhost; else none, and buckets are named in paths alone",
    meaning:
      "Endpoint of S3 clients, whose names below it (`<bucket>.domain`) are buckets; it and all of them lead here.",
    parse: domainName,
  },
  blobUrl: {
    variable: "SVC_BLOB_S3_URL",
    otherwise: "files in the data folder",
    meaning:
      "Bucket of an S3-compatible server that keeps the bytes of objects: `https://host/bucket/prefix`.",
    parse: bucketUrl,
  },
  blobRegion: {
    variable: "SVC_BLOB_S3_REGION",
    otherwise: "us-east-1",
    meaning: "Region of that bucket.",
    parse: (text = "us-east-1") => text,
  },
  blobAccessKey: {
    variable: "SVC_BLOB_S3_ACCESS_KEY",
    otherwise: "what the AWS SDK finds by itself, such as the role of this machine",
    meaning: "Access key id for that server.",
    parse: optional,
  },
  blobSecretKey: {
    variable: "SVC_BLOB_S3_SECRET_KEY",
    otherwise: "none",
    meaning: "Secret access key of that id.",
    secret: true,
    parse: optional,
  },
  blobAddressing: {
    variable: "SVC_BLOB_S3_ADDRESSING",
    otherwise: "path",
    meaning: "Where requests name the bucket: in the `path`, or before the `host` name.",
    parse: word("path", "host"),
  },
  vectorsMemoryMb: {
    variable: "SVC_VECTORS_MEMORY_MB",
    otherwise: "1024",
    meaning: "Memory for the vector collections in use; those not searched for longest make room.",
    parse: integer(16, 4_194_304, 1024),
  },
  opensearchUrl: {
    variable: "SVC_OPENSEARCH_URL",
    otherwise: "none: the control database searches",
    meaning: "Search engine: an OpenSearch from version 2.",
    parse: url("http:", "https:"),
  },
  opensearchUser: {
    variable: "SVC_OPENSEARCH_USER",
    otherwise: "none",
    meaning: "User of OpenSearch.",
    parse: optional,
  },
  opensearchPassword: {
    variable: "SVC_OPENSEARCH_PASSWORD",
    otherwise: "none",
    meaning: "Its password.",
    secret: true,
    parse: optional,
  },
  opensearchIndex: {
    variable: "SVC_OPENSEARCH_INDEX",
    otherwise: "svc-search",
    meaning: "Index in OpenSearch; it is made when it is not there.",
    parse: indexName,
  },
  qdrantUrl: {
    variable: "SVC_QDRANT_URL",
    otherwise: "none: vectors are searched in this process",
    meaning: "A Qdrant to search vectors in; the vectors themselves stay in the database.",
    parse: url("http:", "https:"),
  },
  qdrantKey: {
    variable: "SVC_QDRANT_KEY",
    otherwise: "none",
    meaning: "API key of that Qdrant.",
    secret: true,
    parse: optional,
  },
  ...databaseSettings,
  aiUrl: {
    variable: "SVC_AI_URL",
    otherwise: "none",
    meaning: "A server that speaks OpenAI's chat completions, up to and including the version (`…/v1`).",
    parse: url("http:", "https:"),
  },
  aiKey: {
    variable: "SVC_AI_KEY",
    otherwise: "none",
    meaning: "Bearer key of that server.",
    secret: true,
    parse: optional,
  },
  aiModel: {
    variable: "SVC_AI_MODEL",
    otherwise: "gpt-4o-mini",
    meaning: "Model to ask there.",
    parse: (text = "gpt-4o-mini") => text,
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
  ...messagingSettings,
  ...workloadSettings,
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
} as const satisfies Record<string, Setting<unknown>>
