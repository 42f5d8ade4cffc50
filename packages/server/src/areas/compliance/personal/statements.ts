/** Statements over tables that areas declare. Names come from declarations, values from nowhere but parameters. */
import { type RawBuilder, sql } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import type { CorrectedField, PersonalTable, PersonMatch } from "../../../kernel/personal-data.ts"

export interface Subject {
  readonly organizationId: string
  readonly ids: readonly string[]
  /** In lower case. */
  readonly emails: readonly string[]
}

/** Rows deleted by one statement, and read by one. */
const DELETED_AT_ONCE = 1_000
const READ_AT_ONCE = 500

const SECRET = /hash$|secret|password|token|private_key|_key$|sealed|lexemes/

type Condition = RawBuilder<boolean>

const either = (conditions: readonly Condition[]): Condition =>
  conditions.length === 0 ? sql<boolean>`false` : sql<boolean>`(${sql.join(conditions, sql` OR `)})`

export const createStatements = (tables: readonly PersonalTable[]) => {
  const tableOf = (name: string): PersonalTable => {
    const found = tables.find(({ table }) => table === name)
    if (!found) throw new Error(`${name} is referred to as a table of people, and not declared`)
    return found
  }

  const ofTenant = ({ tenant }: PersonalTable, { organizationId }: Subject): Condition =>
    "organization" in tenant
      ? sql<boolean>`${sql.ref(tenant.organization)} = ${organizationId}::uuid`
      : sql<boolean>`${sql.ref(tenant.project)} IN (
          SELECT id FROM core.projects WHERE organization_id = ${organizationId}::uuid)`

  const ofPerson = ({ ids = [], emails = [], through }: PersonMatch, subject: Subject): Condition =>
    either([
      ...ids.map(column => sql<boolean>`${sql.ref(column)} = ANY(${subject.ids}::uuid[])`),
      ...emails.map(column => sql<boolean>`lower(${sql.ref(column)}) = ANY(${subject.emails}::text[])`),
      ...(through
        ? [
            sql<boolean>`${sql.ref(through.column)} IN (
              SELECT ${sql.ref(through.key)} FROM ${sql.table(through.table)}
              WHERE ${rowsOf(tableOf(through.table), subject)})`,
          ]
        : []),
    ])

  const rowsOf = (table: PersonalTable, subject: Subject): Condition =>
    sql<boolean>`${ofTenant(table, subject)} AND ${ofPerson(table.match, subject)}`

  return {
    /** The ids and addresses of the people that some of them lead to. */
    async identities(db: Db, subject: Subject): Promise<Subject> {
      const ids = new Set(subject.ids)
      const emails = new Set(subject.emails)
      for (const table of tables) {
        if (!table.identity) continue
        const { rows } = await sql<{ id: string; email: string }>`
          SELECT ${sql.ref(table.identity.id)} AS id, lower(${sql.ref(table.identity.email)}) AS email
          FROM ${sql.table(table.table)} WHERE ${rowsOf(table, subject)}`.execute(db)
        for (const { id, email } of rows) {
          ids.add(id)
          emails.add(email)
        }
      }
      return { ...subject, ids: [...ids], emails: [...emails] }
    },

    /** The rows in pieces, without what is secret. Needs a transaction: a cursor lives no longer. */
    async *read(tx: Db, table: PersonalTable, subject: Subject): AsyncGenerator<Record<string, unknown>[]> {
      const omitted = new Set(table.omits ?? [])
      await sql`DECLARE personal_rows NO SCROLL CURSOR FOR
        SELECT to_jsonb(listed) AS row FROM ${sql.table(table.table)} AS listed
        WHERE ${rowsOf(table, subject)}`.execute(tx)
      for (;;) {
        const { rows } = await sql<{ row: Record<string, unknown> }>`
          FETCH ${sql.lit(READ_AT_ONCE)} FROM personal_rows`.execute(tx)
        if (rows.length > 0)
          yield rows.map(({ row }) =>
            Object.fromEntries(
              Object.entries(row).filter(([column]) => !omitted.has(column) && !SECRET.test(column)),
            ),
          )
        if (rows.length < READ_AT_ONCE) break
      }
      await sql`CLOSE personal_rows`.execute(tx)
    },

    async count(db: Db, table: PersonalTable, subject: Subject): Promise<number> {
      const { rows } = await sql<{ count: number }>`
        SELECT count(*)::int8 AS count FROM ${sql.table(table.table)} WHERE ${rowsOf(table, subject)}`.execute(
        db,
      )
      return rows[0]?.count ?? 0
    },

    /** Deletes a piece; `more` while there may be others. */
    async deleteSome(db: Db, table: PersonalTable, subject: Subject) {
      const name = sql.table(table.table)
      const { numAffectedRows = 0n } = await sql`
        DELETE FROM ${name} WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM ${name} WHERE ${rowsOf(table, subject)} LIMIT ${sql.lit(DELETED_AT_ONCE)}))`.execute(
        db,
      )
      const rows = Number(numAffectedRows)
      return { rows, more: rows === DELETED_AT_ONCE }
    },

    async replace(
      db: Db,
      table: PersonalTable,
      subject: Subject,
      values: Readonly<Record<string, string | null>>,
    ): Promise<number> {
      const changes = Object.entries(values).map(([column, value]) => sql`${sql.ref(column)} = ${value}`)
      const { numAffectedRows = 0n } = await sql`
        UPDATE ${sql.table(table.table)} SET ${sql.join(changes)} WHERE ${rowsOf(table, subject)}`.execute(db)
      return Number(numAffectedRows)
    },

    /** The tables that have such a field, and their column. */
    corrected: (field: CorrectedField): { readonly table: PersonalTable; readonly column: string }[] =>
      tables.flatMap(table => {
        const column = table.corrects?.[field]
        return column === undefined ? [] : [{ table, column }]
      }),
  }
}

export type Statements = ReturnType<typeof createStatements>
