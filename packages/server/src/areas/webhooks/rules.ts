import { platformEventTypes } from "@svc/contract"

/** Whether a choice of a webhook takes in the type: `*` all, `build.*` what begins with `build.`, others themselves. */
const covers = (pattern: string, type: string): boolean =>
  pattern === "*" || pattern === type || (pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1)))

export const choosesType = (patterns: readonly string[], type: string): boolean =>
  patterns.some(pattern => covers(pattern, type))

/** The choices that no type of the catalogue has: spelled wrongly, most likely. */
export const unknownPatterns = (patterns: readonly string[]): string[] =>
  patterns.filter(pattern => !platformEventTypes.some(type => covers(pattern, type)))

/** Of whom a webhook is told: one of a project hears of that project, and of the organization as a whole. */
export const hearsProject = (webhookProject: string | null, eventProject: string | null): boolean =>
  webhookProject === null || eventProject === null || webhookProject === eventProject
