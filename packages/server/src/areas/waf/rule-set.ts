/** The rules for one load balancer, and what they say of a request. */
import type { WafTarget } from "@svc/contract"
import type { Seen } from "../../services/proxy/inspector.ts"
import { type Part, type Reading, readParts } from "./readings.ts"
import { redact } from "./redaction.ts"
import type { Rule } from "./rule.ts"
import type { Screens } from "./screens.ts"

export interface Match {
  readonly rule: Rule
  /** As events name it. */
  readonly target: string
  /** As events show it. */
  readonly value: string
}

export interface RuleSet {
  /** In the order in which they are asked. */
  readonly rules: readonly Rule[]
  readonly screens: Screens
}

export interface Judgement {
  /** The rules that match, until one refuses or lets through. */
  readonly matches: readonly Match[]
  /** Judging would have taken too long, and was given up. */
  readonly isSpent: boolean
}

/** Other requests have their turn after this long. */
const TURN_MS = 4
/** Of the processor, for one request, whatever the rules of its project. */
const SPENT_US = 300_000

const nextTurn = () => new Promise<void>(resolve => void setImmediate(resolve))

/**
 * A rule that refuses matches by any reading of a part, one that lets through by all of them: else `/public/../admin`
 * would be let through as a path below `/public`.
 */
const readingOf = ({ action, pattern }: Rule, { readings }: Part): Reading | undefined => {
  if (action !== "allow") return readings.find(reading => pattern.test(reading))
  return readings.every(reading => pattern.test(reading)) ? readings[0] : undefined
}

type Read = (target: WafTarget) => {
  readonly parts: readonly Part[]
  readonly mayMatch: (rule: Rule) => boolean
}

const createScreenedReader = (screens: Screens, seen: Seen): Read => {
  const known = new Map<WafTarget, ReturnType<Read>>()
  return target => {
    const before = known.get(target)
    if (before) return before
    const parts = readParts(target, seen)
    const made = { parts, mayMatch: screens(target, parts) }
    known.set(target, made)
    return made
  }
}

const matchOf = (rule: Rule, read: Read): Match | undefined => {
  for (const target of rule.targets) {
    const { parts, mayMatch } = read(target)
    if (!mayMatch(rule)) continue
    for (const part of parts) {
      const reading = readingOf(rule, part)
      if (!reading) continue
      const value = redact(part.name, reading.text, rule.pattern.find(reading))
      return { rule, target: part.name, value }
    }
  }
  return undefined
}

export const judge = async ({ rules, screens }: RuleSet, seen: Seen): Promise<Judgement> => {
  const read = createScreenedReader(screens, seen)
  const matches: Match[] = []
  let sinceMs = performance.now()
  // Nearly all requests are judged in their first turn, and asking what was used takes as long as some rules.
  let used: NodeJS.CpuUsage | undefined
  let spentUs = 0
  for (const rule of rules) {
    const match = matchOf(rule, read)
    if (match) matches.push(match)
    if (match && rule.action !== "log") break
    if (performance.now() - sinceMs < TURN_MS) continue
    if (used) spentUs += process.threadCpuUsage(used).user
    if (spentUs > SPENT_US) return { matches, isSpent: true }
    await nextTurn()
    sinceMs = performance.now()
    used = process.threadCpuUsage()
  }
  return { matches, isSpent: false }
}
