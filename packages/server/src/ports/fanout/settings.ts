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
    default: "none: PostgreSQL's own NOTIFY",
    description:
      "NATS servers with JetStream that carry change notifications between processes, separated by commas: `nats://user:password@host:4222`.",
    secret: true,
    parse: natsUrl,
  },
  natsCredentialsFile: {
    variable: "SVC_NATS_CREDENTIALS_FILE",
    default: "none",
    description: "Credentials file for these servers.",
    parse: optional,
  },
  natsReplicas: {
    variable: "SVC_NATS_REPLICAS",
    default: "1",
    description: "Number of servers that store a copy of the notifications.",
    parse: integer(1, 5, 1),
  },
} as const satisfies Settings
