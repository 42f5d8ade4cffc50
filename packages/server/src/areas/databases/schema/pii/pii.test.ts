/** Where personal data is found, and what is never told of it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startCluster } from "../../testing/cluster.ts"
import { labelledTables } from "../testing/labelled-columns.ts"
import { asOwner, reading } from "../testing/reading.ts"
import * as checksums from "./checksums.ts"

const PRECISION_MIN = 0.95
const RECALL_MIN = 0.93
const RIGHT_ENTITY_MIN = 0.93

const checks = {
  card: checksums.isCardNumber,
  iban: checksums.isIban,
  bsn: checksums.isBsn,
  pesel: checksums.isPesel,
  cpf: checksums.isCpf,
  nhs: checksums.isNhsNumber,
  aadhaar: checksums.isAadhaar,
  taxId: checksums.isGermanTaxId,
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

test("most personal columns are found, and hardly any other", async t => {
  const cluster = await startCluster(t, 17)
  const owner = asOwner(cluster)
  const read = reading(t, cluster)
  const totals = { found: 0, right: 0, wrong: 0, missed: 0 }
  for (const seed of [1, 2, 3]) {
    const tables = labelledTables(seed, checks)
    for (const { name, columns } of tables) {
      await owner.query(`DROP TABLE IF EXISTS ${quoted(name)}`)
      await owner.query(
        `CREATE TABLE ${quoted(name)} (${columns.map(c => `${quoted(c.name)} ${c.type}`).join(", ")})`,
      )
      const rows = Array.from({ length: 150 }, (_, row) =>
        Object.fromEntries(columns.map(column => [column.name, column.value(row)])),
      )
      const records = `SELECT * FROM jsonb_populate_recordset(NULL::${quoted(name)}, $1)`
      await owner.query(`INSERT INTO ${quoted(name)} ${records}`, [JSON.stringify(rows)])
    }
    const report = await read.pii()
    const reported = new Map(report.columns.map(found => [`${found.table}.${found.column}`, found]))
    for (const { name, columns } of tables)
      for (const column of columns) {
        const found = reported.get(`${name}.${column.name}`)
        if (found && column.label) {
          totals.found++
          if (found.entity_type === column.label) totals.right++
          else t.diagnostic(`${name}.${column.name}: ${found.entity_type} for ${column.label}`)
        } else if (found) {
          totals.wrong++
          t.diagnostic(
            `${name}.${column.name}: ${found.entity_type} ${found.confidence} ${found.evidence} for nothing`,
          )
        } else if (column.label) {
          totals.missed++
          t.diagnostic(`${name}.${column.name}: nothing for ${column.label}`)
        }
      }
  }
  const precision = totals.found / (totals.found + totals.wrong)
  const recall = totals.found / (totals.found + totals.missed)
  const right = totals.right / totals.found
  t.diagnostic(`precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}, entity ${right.toFixed(3)}`)
  assert.ok(precision >= PRECISION_MIN, `precision ${precision}`)
  assert.ok(recall >= RECALL_MIN, `recall ${recall}`)
  assert.ok(right >= RIGHT_ENTITY_MIN, `right entity ${right}`)
})
