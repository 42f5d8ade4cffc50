/** Compiled rules by project, in memory; changes of any process are pushed to it, and no request waits for a query. */
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Logger } from "../../kernel/log.ts"
import { compilePattern } from "./patterns.ts"
import type { Rule } from "./rule.ts"
import type { RuleSet } from "./rule-set.ts"
import { createScreens } from "./screens.ts"
import type { RuleRow } from "./store.ts"

export const WAF_TOPIC = "waf"

export interface RuleTable {
  /** What holds for a load balancer. Rejects where the rules cannot be read and never were. */
  find(of: { readonly projectId: string; readonly loadBalancerId: string }): RuleSet | Promise<RuleSet>
}

const PROJECTS_MAX = 5_000

interface Known {
  readonly rules: readonly Rule[]
  /** By load balancer. */
  readonly sets: Map<string, RuleSet>
  /** With what they were made of, to compile no rule twice. */
  readonly compiled: ReadonlyMap<string, { readonly source: string; readonly rule: Rule }>
  isFresh: boolean
}

const compileRule = async (row: RuleRow): Promise<Rule> => ({
  ...{ id: row.id, name: row.name, action: row.action, targets: row.targets },
  pattern: await compilePattern(row.match, row.pattern),
  loadBalancerId: row.load_balancer_id ?? undefined,
})

export const createRuleTable = (needs: {
  /** The enabled rules of a project, in their order. */
  readonly read: (projectId: string) => Promise<readonly RuleRow[]>
  readonly changes: Changes
  readonly log: Logger
}): RuleTable => {
  const { read, changes, log } = needs
  const known = createBoundedCache<Known>(PROJECTS_MAX)
  const readings = new Map<string, Promise<Known>>()

  changes.subscribe(WAF_TOPIC, projectId => {
    const stale = projectId === undefined ? known.values() : [known.get(projectId)]
    for (const one of stale) if (one) one.isFresh = false
    // What is being read may be older than the news.
    if (projectId === undefined) readings.clear()
    else readings.delete(projectId)
  })

  const compile = async (projectId: string, rows: readonly RuleRow[]): Promise<Known> => {
    const before = known.get(projectId)?.compiled
    const entries = await Promise.all(
      rows.map(async row => {
        const source = JSON.stringify(row)
        const same = before?.get(row.id)
        const rule = same?.source === source ? same.rule : await compileRule(row)
        return [row.id, { source, rule }] as const
      }),
    )
    return {
      rules: entries.map(([, { rule }]) => rule),
      ...{ sets: new Map(), compiled: new Map(entries), isFresh: true },
    }
  }

  const load = async (projectId: string, isLatest: () => boolean): Promise<Known> => {
    try {
      const loaded = await compile(projectId, await read(projectId))
      if (isLatest()) known.set(projectId, loaded)
      return loaded
    } catch (error) {
      const last = known.get(projectId)
      const rest = last ? "the last known ones hold" : "requests are refused until they are read"
      log.warn({ err: error, project: projectId }, `reading firewall rules failed; ${rest}`)
      if (!last) throw error
      return last
    }
  }

  const loadOnce = (projectId: string): Promise<Known> => {
    const shared = readings.get(projectId)
    if (shared) return shared
    const reading: Promise<Known> = load(projectId, () => readings.get(projectId) === reading).finally(() => {
      if (readings.get(projectId) === reading) readings.delete(projectId)
    })
    readings.set(projectId, reading)
    return reading
  }

  const setOf = async ({ rules, sets }: Known, loadBalancerId: string): Promise<RuleSet> => {
    const own = rules.filter(rule => (rule.loadBalancerId ?? loadBalancerId) === loadBalancerId)
    const made = { rules: own, screens: await createScreens(own) }
    sets.set(loadBalancerId, made)
    return made
  }

  const findAnew = async (projectId: string, loadBalancerId: string): Promise<RuleSet> => {
    const found = known.get(projectId)
    const current = found?.isFresh ? found : await loadOnce(projectId)
    return current.sets.get(loadBalancerId) ?? setOf(current, loadBalancerId)
  }

  return {
    find({ projectId, loadBalancerId }) {
      const found = known.get(projectId)
      const set = found?.isFresh ? found.sets.get(loadBalancerId) : undefined
      return set ?? findAnew(projectId, loadBalancerId)
    },
  }
}
