import { counterChecks } from "./checks/counters.ts"
import { indexChecks } from "./checks/indexes.ts"
import { securityChecks } from "./checks/security.ts"
import { serverChecks } from "./checks/server.ts"
import { sessionChecks } from "./checks/sessions.ts"
import { tableChecks } from "./checks/tables.ts"
import {
  type Check,
  type Finding,
  type Level,
  LIMITS,
  type Limits,
  type Report,
  toFinding,
} from "./findings.ts"
import type { Inspection } from "./inspect.ts"

export const checks: readonly Check[] = [
  ...indexChecks,
  ...tableChecks,
  ...sessionChecks,
  ...counterChecks,
  ...securityChecks,
  ...serverChecks,
]

/** A schema of thousands of tables may have the same fault in each; the first hundred show it. */
const FINDINGS_OF_CHECK_MAX = 100
/** For all checks together; those that did not get their turn are named in the report. */
const CHECKS_TIME_MAX_MS = 20_000

export interface Inspected {
  readonly findings: Finding[]
  readonly skipped: Report["skipped"]
}

const reasonOf = (error: unknown): string => {
  const { code } = error as { code?: string }
  if (code === "57014" || code === "55P03") return "it took too long"
  if (code === "42501") return "the role may not read what it needs"
  throw error
}

/** Runs every check. One that takes too long, or may not look, is skipped by name and spoils no other. */
export const runChecks = async (inspection: Inspection, limits: Limits = LIMITS): Promise<Inspected> => {
  const findings: Finding[] = []
  const skipped: Report["skipped"] = []
  const deadline = performance.now() + CHECKS_TIME_MAX_MS
  for (const check of checks) {
    if (performance.now() > deadline) {
      skipped.push({ name: check.name, reason: "the report took too long" })
      continue
    }
    const sql = `SELECT * FROM (${check.sql(inspection.version)}) AS found LIMIT ${FINDINGS_OF_CHECK_MAX}`
    try {
      const rows = await inspection.rows<never>(sql, check.parameters(limits))
      findings.push(...rows.map(row => toFinding(check, check.found(row))))
    } catch (error) {
      skipped.push({ name: check.name, reason: reasonOf(error) })
    }
  }
  return { findings, skipped }
}

const WEIGHT: Readonly<Record<Level, number>> = { ERROR: 0, WARN: 1, INFO: 2 }

/** The gravest first. */
export const ordered = (findings: readonly Finding[]): Finding[] =>
  findings.toSorted(
    (a, b) =>
      WEIGHT[a.level] - WEIGHT[b.level] || a.name.localeCompare(b.name) || a.detail.localeCompare(b.detail),
  )

export const summaryOf = (findings: readonly Finding[]): Report["summary"] => {
  const count = (level: Level) => findings.filter(finding => finding.level === level).length
  return { error: count("ERROR"), warn: count("WARN"), info: count("INFO") }
}
