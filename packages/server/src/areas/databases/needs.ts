import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "changes",
  "clock",
  "log",
  "engine",
  "box",
  "meters",
  "metrics",
  "platformEvents",
  "postgres",
  "ai",
  "databaseAccess",
  "tables",
  "scheduleTargets",
] as const
export type Needs = NeedsOf<typeof needs>
