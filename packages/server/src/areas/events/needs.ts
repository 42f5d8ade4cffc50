import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "changes",
  "clock",
  "jobs",
  "deliveries",
  "box",
  "outbound",
  "functions",
  "meters",
  "log",
  "scheduleTargets",
  "keys",
  "stopping",
  "atRest",
] as const
export type Needs = NeedsOf<typeof needs>
