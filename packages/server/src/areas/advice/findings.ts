import { createHash } from "node:crypto"
import type { areas, Output } from "@svc/contract"
import type { PgVersion } from "../../ports/engine/port.ts"

export type Report = Output<(typeof areas)["advice"]["specs"]["anomalies"]>
export type Finding = Report["findings"][number]
export type Level = Finding["level"]
export type Category = Finding["categories"][number]

/** From where on something is worth a finding. Ages in seconds, sizes in bytes, shares between 0 and 1. */
export interface Limits {
  readonly foreignKeyRowsMin: number
  readonly unusedIndexBytesMin: number
  readonly unusedIndexTableScansMin: number
  readonly deadRowsMin: number
  readonly deadRowsShare: number
  readonly bloatBytesMin: number
  readonly bloatShare: number
  readonly analyzeRowsMin: number
  readonly idleInTransactionSeconds: number
  readonly lockWaitSeconds: number
  readonly longQuerySeconds: number
  readonly connectionsShare: number
  readonly sequenceShare: number
  readonly transactionAge: number
  readonly multixactAge: number
  readonly slotBytes: number
  readonly tempBytesPerCall: number
  readonly cacheBlocksMin: number
  readonly cacheHitShare: number
  readonly checkpointsMin: number
  /** Log between two checkpoints, as a share of max_wal_size. */
  readonly checkpointLogShare: number
}

const MIB = 1024 * 1024

export const LIMITS: Limits = {
  foreignKeyRowsMin: 1_000,
  unusedIndexBytesMin: MIB,
  unusedIndexTableScansMin: 1_000,
  deadRowsMin: 10_000,
  deadRowsShare: 0.2,
  bloatBytesMin: 16 * MIB,
  bloatShare: 0.5,
  analyzeRowsMin: 1_000,
  idleInTransactionSeconds: 60,
  lockWaitSeconds: 5,
  longQuerySeconds: 300,
  connectionsShare: 0.8,
  sequenceShare: 0.75,
  // PostgreSQL itself begins to warn at 2.1 billion minus 40 million, and freezes at 200 million.
  transactionAge: 500_000_000,
  multixactAge: 800_000_000,
  slotBytes: 512 * MIB,
  tempBytesPerCall: 16 * MIB,
  cacheBlocksMin: 100_000,
  cacheHitShare: 0.9,
  checkpointsMin: 20,
  checkpointLogShare: 0.3,
}

/** What a check says of one row; the rest of the finding is the check's own. */
export interface FindingRow {
  /** Tells this finding from the check's others, the same in every report. */
  readonly key: string
  readonly detail: string
  readonly remediation: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** Where this row weighs other than the check usually does. */
  readonly level?: Level
}

interface CheckHead {
  readonly name: string
  readonly title: string
  readonly level: Level
  readonly categories: readonly Category[]
  readonly description: string
}

export interface Check extends CheckHead {
  readonly sql: (version: PgVersion) => string
  readonly parameters: (limits: Limits) => readonly number[]
  readonly found: (row: never) => FindingRow
}

/** A check is its words, a SELECT that gives one row for each finding, and how a row reads. */
export const check = <Row>(
  spec: CheckHead & {
    readonly sql: string | ((version: PgVersion) => string)
    /** Values of $1, $2, …. */
    readonly parameters?: (limits: Limits) => readonly number[]
    readonly found: (row: Row) => FindingRow
  },
): Check => {
  const { sql, parameters = () => [] } = spec
  return { ...spec, sql: typeof sql === "string" ? () => sql : sql, parameters }
}

export const toFinding = (
  head: CheckHead,
  { key, detail, remediation, metadata, level }: FindingRow,
): Finding => ({
  name: head.name,
  title: head.title,
  level: level ?? head.level,
  categories: [...head.categories],
  description: head.description,
  detail,
  remediation,
  metadata: { ...metadata },
  // A name of an object can be long, and hold any character.
  cache_key: `${head.name}_${createHash("sha256").update(key).digest("hex").slice(0, 16)}`,
})

const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const

/** Bytes for people: `1.5 GB`. */
export const inBytes = (bytes: number): string => {
  const step = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** step
  return `${value < 10 && step > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[step]}`
}

export const inPercent = (share: number): string => `${Math.round(share * 100)} %`
