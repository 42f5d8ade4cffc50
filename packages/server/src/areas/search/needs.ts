import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = ["database", "clock", "jobs", "search", "outbound", "tables", "objects"] as const
export type Needs = NeedsOf<typeof needs>
