import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "clock",
  "log",
  "fanout",
  "jobs",
  "box",
  "keys",
  "outbound",
  "push",
  "platformEvents",
  "baseUrl",
  "stopping",
  "mails",
  "mailFrom",
] as const
export type Needs = NeedsOf<typeof needs>
