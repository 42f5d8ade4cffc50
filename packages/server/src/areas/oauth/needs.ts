import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, clock, database } from "../../kernel/tokens.ts"

export const needs = { baseUrl, clock, database }
export type Needs = AreaGiven<typeof needs>
