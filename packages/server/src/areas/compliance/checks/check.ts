import type { areas, Output } from "@svc/contract"

type Status = Output<(typeof areas.compliance.specs)["status"]>
export type CheckResult = Status["checks"][number]
export type StatusPayload = Status

export interface Finding {
  readonly status: CheckResult["status"]
  readonly message: string
  /** How to mend it. */
  readonly remedy?: string
  readonly failing?: CheckResult["failing_entities"]
  /** When it was looked at, if not now. */
  readonly at?: Date
}

/** One check: what it is called and weighs, and how it is looked at. */
export interface Check {
  readonly id: string
  readonly category: CheckResult["category"]
  readonly name: string
  readonly severity: CheckResult["severity"]
  look(organizationId: string, now: Date): Promise<Finding>
}

const WEIGHTS = { low: 1, medium: 2, high: 3, critical: 5 } as const
const ENTITIES_MAX = 100

export const runCheck = async (check: Check, organizationId: string, now: Date): Promise<CheckResult> => {
  const { id, category, name, severity } = check
  const { status, message, remedy, failing = [], at = now } = await check.look(organizationId, now)
  return {
    ...{ id, category, name, severity, weight: WEIGHTS[severity], status, message, remedy: remedy ?? null },
    ...{ failing_entities: failing.slice(0, ENTITIES_MAX), last_run_at: at.toISOString() },
  }
}

/** In percent, rounded down: 100 is nothing but passed checks. */
export const scoreOf = (checks: readonly Pick<CheckResult, "status" | "weight">[]): number => {
  const weigh = (some: typeof checks) => some.reduce((sum, { weight }) => sum + weight, 0)
  const applicable = weigh(checks.filter(({ status }) => status !== "not_applicable"))
  const passed = weigh(checks.filter(({ status }) => status === "pass"))
  return applicable === 0 ? 100 : Math.floor((passed * 100) / applicable)
}

export const verdictOf = (checks: readonly Pick<CheckResult, "status">[]): StatusPayload["status"] => {
  if (checks.some(({ status }) => status === "fail")) return "non_compliant"
  return checks.some(({ status }) => status === "warn") ? "attention" : "compliant"
}
