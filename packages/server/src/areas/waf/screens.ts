/** Expressions of many rules joined into few: a short text that none of them matches is found out in one pass. */
import { type WafTarget, wafTargets } from "@svc/contract"
import type { Part } from "./readings.ts"
import type { Rule } from "./rule.ts"

/** Instructions of one joined expression, and length of the texts it is asked of: their product is its longest time. */
const SIZE_MAX = 2_000
const TEXT_MAX = 2_048

type Test = (text: string) => boolean

/** Whether a rule may match in these parts: false only where it cannot. */
export type Screens = (target: WafTarget, parts: readonly Part[]) => (rule: Rule) => boolean

const join = async (sources: readonly string[]): Promise<Test> => {
  const { RE2JS } = await import("re2js")
  try {
    const joined = RE2JS.compile(sources.map(source => `(?:${source})`).join("|"))
    return text => joined.test(text)
  } catch {
    // Such as two groups of one name.
    return () => true
  }
}

/** Rules that refuse or log; what lets through is asked of all readings of a part, and there are few. */
const isScreened = ({ action, pattern }: Rule): boolean =>
  action !== "allow" && pattern.expression !== undefined

interface Screen {
  readonly rules: ReadonlySet<Rule>
  readonly test: Test
}

const screensOf = async (rules: readonly Rule[]): Promise<Screen[]> => {
  const groups: Rule[][] = []
  let size = SIZE_MAX
  for (const rule of rules) {
    size += rule.pattern.expression?.size ?? 0
    if (size > SIZE_MAX) {
      groups.push([])
      size = rule.pattern.expression?.size ?? 0
    }
    groups.at(-1)?.push(rule)
  }
  return Promise.all(
    groups.map(async group => ({
      rules: new Set(group),
      test: await join(group.map(({ pattern }) => pattern.expression?.source ?? "")),
    })),
  )
}

export const createScreens = async (rules: readonly Rule[]): Promise<Screens> => {
  const screened = rules.filter(isScreened)
  const entries = wafTargets.map(
    async target =>
      [target, await screensOf(screened.filter(({ targets }) => targets.includes(target)))] as const,
  )
  const byTarget = new Map(await Promise.all(entries))
  return (target, parts) => {
    const clean = new Set<Rule>()
    for (const { rules, test } of byTarget.get(target) ?? []) {
      const isClean = parts.every(({ readings }) =>
        readings.every(({ text }) => text.length <= TEXT_MAX && !test(text)),
      )
      if (isClean) for (const rule of rules) clean.add(rule)
    }
    return rule => !clean.has(rule)
  }
}
