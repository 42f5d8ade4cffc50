import type { Settings } from "../../kernel/setting.ts"
import { integer, optional, url } from "../../kernel/setting-parsers.ts"

/** One or several with commas between. */
export const natsUrl = (text: string | undefined): string | undefined => {
  for (const part of text?.split(",") ?? []) url("nats:", "tls:")(part.trim())
  return text
}

export const settings = {
  natsUrl: {
    variable: "SVC_NATS_URL",
    otherwise: "none: PostgreSQL's own NOTIFY",
    meaning:
      "NATS servers with JetStream that carry news between processes, with commas between: `nats://user:password@host:4222`.",
    secret: true,
    parse: natsUrl,
  },
  natsCredentialsFile: {
    variable: "SVC_NATS_CREDENTIALS_FILE",
    otherwise: "none",
    meaning: "Credentials file for those servers.",
    parse: optional,
  },
  natsReplicas: {
    variable: "SVC_NATS_REPLICAS",
    otherwise: "1",
    meaning: "How many of those servers keep a copy of the news.",
    parse: integer(1, 5, 1),
  },
} as const satisfies Settings
