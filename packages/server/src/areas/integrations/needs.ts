import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "clock",
  "jobs",
  "git",
  "box",
  "outbound",
  "platformEvents",
  "pushes",
  "baseUrl",
] as const
export type Needs = NeedsOf<typeof needs>
