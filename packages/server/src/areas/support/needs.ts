import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "fanout",
  "clock",
  "log",
  "jobs",
  "platformEvents",
  "baseUrl",
  "keys",
  "stopping",
  "mails",
  "mailFrom",
  "mail",
  "mailReplies",
  "support",
] as const
export type Needs = NeedsOf<typeof needs>
