import { setImmediate as nextTurn } from "node:timers/promises"
import { SCHEMA_TABLES_MAX } from "@svc/contract"
import type { Clock } from "../../../kernel/clock.ts"
import { type Client, inspect } from "../inspection.ts"
import { type EntityType, entities } from "./entities.ts"
import { judgeColumn } from "./judgement.ts"
import { type CandidateTable, candidateTables, isSampledTable, type Sample, sampleTable } from "./sampling.ts"

/** Tables of which rows are read, and for how long in all. The others are judged by names and types. */
const SAMPLED_TABLES_MAX = 500
const SAMPLING_MS_MAX = 10_000
const FINDINGS_MAX = 10_000

export interface PiiFinding {
  readonly schema: string
  readonly table: string
  readonly column: string
  readonly data_type: string
  readonly category: string
  readonly entity_type: EntityType
  readonly direct: boolean
  readonly confidence: number
  readonly evidence: string[]
  readonly sampled_rows: number
}

export interface PiiReport {
  readonly columns: PiiFinding[]
  readonly scanned_tables: number
  readonly sampled_tables: number
  readonly truncated: boolean
}

export interface PiiScan {
  readonly schema?: string | undefined
  /** False: no row is read. */
  readonly sample: boolean
  readonly confidenceMin: number
  readonly clock: Pick<Clock, "now">
  readonly signal: AbortSignal
}

const judgeTable = async (
  table: CandidateTable,
  sample: Sample | undefined,
  confidenceMin: number,
): Promise<PiiFinding[]> => {
  const findings: PiiFinding[] = []
  for (const column of table.columns) {
    // Others are served between two columns: one of long texts takes milliseconds.
    await nextTurn()
    const judged = judgeColumn({
      table: table.name,
      column,
      values: sample?.values.get(column.name),
      keyed: sample?.keyed.get(column.name),
    })
    for (const { entity, confidence, evidence } of judged) {
      if (confidence < confidenceMin) continue
      findings.push({
        schema: table.schema,
        table: table.name,
        column: column.name,
        data_type: column.full_type,
        category: entities[entity].category,
        entity_type: entity,
        direct: entities[entity].direct,
        confidence: Math.round(confidence * 100) / 100,
        evidence: [...evidence],
        sampled_rows: sample?.rows ?? 0,
      })
    }
  }
  return findings
}

/** Judges every column of the database. Each table is sampled in a transaction of its own, to hold no lock for long. */
export const scanForPii = async (client: Client, scan: PiiScan): Promise<PiiReport> => {
  const of = { schema: scan.schema, rowsMax: SCHEMA_TABLES_MAX }
  const found = await inspect(client, () => candidateTables(client, of))
  const tables = found.slice(0, SCHEMA_TABLES_MAX)
  const untilMs = scan.clock.now() + SAMPLING_MS_MAX
  const findings: PiiFinding[] = []
  let sampled = 0
  let unsampled = 0
  for (const table of tables) {
    scan.signal.throwIfAborted()
    const wanted = scan.sample && isSampledTable(table)
    const allowed = wanted && sampled < SAMPLED_TABLES_MAX && scan.clock.now() < untilMs
    const sample = allowed ? await sampleTable(client, table) : undefined
    if (sample) sampled++
    if (wanted && !allowed) unsampled++
    findings.push(...(await judgeTable(table, sample, scan.confidenceMin)))
    if (findings.length > FINDINGS_MAX) break
  }
  return {
    columns: findings.slice(0, FINDINGS_MAX),
    scanned_tables: tables.length,
    sampled_tables: sampled,
    truncated: found.length > tables.length || unsampled > 0 || findings.length > FINDINGS_MAX,
  }
}
