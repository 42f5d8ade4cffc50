import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "changes",
  "clock",
  "log",
  "jobs",
  "box",
  "atRest",
  "meters",
  "metrics",
  "baseUrl",
  "platformEvents",
  "objects",
  "functions",
  "runtime",
  "hosts",
  "images",
  "retryDelayFactor",
  "functionsDir",
] as const
export type Needs = NeedsOf<typeof needs>
