import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "blob",
  "clock",
  "log",
  "changes",
  "box",
  "keys",
  "meters",
  "metrics",
  "baseUrl",
  "s3Domain",
  "accessKeys",
  "platformEvents",
  "objects",
] as const
export type Needs = NeedsOf<typeof needs>
