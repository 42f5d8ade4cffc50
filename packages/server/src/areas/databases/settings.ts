import type { Settings } from "../../kernel/setting.ts"
import { integer, optional, optionalInteger, port, url, word } from "../../kernel/setting-parsers.ts"

export const settings = {
  postgresPort: {
    variable: "SVC_POSTGRES_PORT",
    otherwise: "SVC_PORT plus one",
    meaning: "Port on which tenant databases speak PostgreSQL's protocol.",
    parse: port,
  },
  postgresHost: {
    variable: "SVC_POSTGRES_HOST",
    otherwise: "the host of SVC_BASE_URL",
    meaning: "Host name in the connection strings of tenant databases.",
    parse: optional,
  },
  postgresTls: {
    variable: "SVC_POSTGRES_TLS",
    otherwise: "remote",
    meaning: "Which clients of tenant databases must use TLS: `remote` ones, `always`, or `never`.",
    parse: word("remote", "always", "never"),
  },
  postgresTlsCert: {
    variable: "SVC_POSTGRES_TLS_CERT",
    otherwise: "a self-made one in the data folder",
    meaning: "File with the certificate chain (PEM) of the PostgreSQL port.",
    parse: optional,
  },
  postgresTlsKey: {
    variable: "SVC_POSTGRES_TLS_KEY",
    otherwise: "a self-made one in the data folder",
    meaning: "File with the private key (PEM) of that certificate.",
    parse: optional,
  },
  databaseGraceSeconds: {
    variable: "SVC_DATABASE_GRACE_SECONDS",
    otherwise: "604800",
    meaning: "How long a deleted tenant database can be restored.",
    parse: integer(0, 365 * 86_400, 7 * 86_400),
  },
  textToSqlMs: {
    variable: "SVC_TEXT_TO_SQL_MS",
    otherwise: "200",
    meaning:
      "Longest time, in milliseconds, to turn a question into a statement without a language model; what takes longer is refused.",
    parse: integer(10, 60_000, 200),
  },
  databaseDiskMb: {
    variable: "SVC_DATABASE_DISK_MB",
    otherwise: "what the organization's plan says",
    meaning:
      "Most disk of one tenant database with its branches where the plan says more or nothing; a project's databases get twice that together, a database's history too.",
    parse: optionalInteger(48, 1_073_741_824),
  },
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
} as const satisfies Settings
