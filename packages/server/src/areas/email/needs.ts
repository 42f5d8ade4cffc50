import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "clock",
  "log",
  "box",
  "jobs",
  "dns",
  "mail",
  "baseUrl",
  "outbound",
  "platformEvents",
  "mailReplies",
  "mails",
  "mailFrom",
  "meters",
  "scheduleTargets",
  "atRest",
] as const
export type Needs = NeedsOf<typeof needs>
