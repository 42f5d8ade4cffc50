/** Where personal data is found, and what is never told of it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startCluster } from "../../../testing/cluster.ts"
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

/** A text and what it holds; those that hold nothing have digits and signs that look alike. */
const TEXTS: readonly (readonly [string, "EMAIL_ADDRESS" | "PHONE_NUMBER" | null])[] = [
  ["Spoke with the buyer, she prefers mail to ada.byron@example.org from now on", "EMAIL_ADDRESS"],
  ["mail: o'neil@example.com", "EMAIL_ADDRESS"],
  ["Forwarded by <jan@sub.example.co.uk>, waiting for an answer", "EMAIL_ADDRESS"],
  [`${"The parcel was returned twice. ".repeat(12)}Write to max@example.de`, "EMAIL_ADDRESS"],
  ["call me at +49 171 2345678 after five", "PHONE_NUMBER"],
  ["Customer asked us to ring (415) 555-2671 tomorrow", "PHONE_NUMBER"],
  ["tel. 415-555-2671, ask for the manager", "PHONE_NUMBER"],
  ["Bitte telefonisch melden, Handy 0171 2345678", "PHONE_NUMBER"],
  ["reach him on 020 7946 0958 during office hours", "PHONE_NUMBER"],
  ["my mobile is 06 12 34 56 78 now", "PHONE_NUMBER"],
  ["Order 415-555-2671 was shipped on 2024-05-16", null],
  ["Batch 0171 2345678 failed the quality check", null],
  ["Clone git@github.com:acme/tools.git and run the setup", null],
  ["Installed left-pad@1.3.0 and react@18.2.0 from the registry", null],
  ["Version 10.12.144.20 replaces 10.11.2.1 on all hosts", null],
  ["Paid 1 200 300 on 12.05.2024, invoice 2024-0012345", null],
  ["ISBN 978-3-16-148410-0, second edition of the book", null],
  ["see https://example.com/@team/posts/20240516 for more", null],
  ["Call the function twice, it returned 1048576 and 2097152", null],
  ["Ticket 00491712345678 was closed without an answer", null],
]

test("e-mail addresses and phone numbers are found inside texts, also a single one, and nothing that looks alike", async t => {
  const cluster = await startCluster(t, 17)
  const owner = asOwner(cluster)
  const read = reading(t, cluster)
  for (const [index, [text]] of TEXTS.entries()) {
    const rows = Array.from({ length: 60 }, (_, row) =>
      row === 17 ? text : `The delivery came late again, row ${row}.`,
    )
    await owner.query(`CREATE TABLE t${index} (remark text)`)
    await owner.query(`INSERT INTO t${index} SELECT unnest($1::text[])`, [rows])
  }
  const report = await read.pii()
  const found = TEXTS.map((_, index) => report.columns.filter(({ table }) => table === `t${index}`))
  const wrong = TEXTS.flatMap(([text, expected], index) => {
    const entities = found[index]?.map(({ entity_type }) => entity_type) ?? []
    return entities.join() === (expected ?? "") ? [] : [`${text}: ${entities.join()}`]
  })
  assert.deepEqual(wrong, [])
})
