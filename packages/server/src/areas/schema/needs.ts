import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = ["clock", "engine", "databaseAccess"] as const
export type Needs = NeedsOf<typeof needs>
