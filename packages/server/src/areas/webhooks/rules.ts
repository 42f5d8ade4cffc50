import { platformEventTypes } from "@svc/contract"
import { matchesType } from "../../services/deliveries/patterns.ts"

export const choosesType = (patterns: readonly string[], type: string): boolean =>
  patterns.some(pattern => matchesType(pattern, type))

/** The choices that no type of the catalogue has: spelled wrongly, most likely. */
export const unknownPatterns = (patterns: readonly string[]): string[] =>
  patterns.filter(pattern => !platformEventTypes.some(type => matchesType(pattern, type)))

/** Of whom a webhook is told: one of a project hears of that project, and of the organization as a whole. */
export const hearsProject = (webhookProject: string | null, eventProject: string | null): boolean =>
  webhookProject === null || eventProject === null || webhookProject === eventProject
