import { once } from "node:events"
import { PassThrough, type Readable } from "node:stream"
import { strToU8, Zip, ZipDeflate } from "fflate"
import type { Database, Db } from "../../../kernel/db/database.ts"
import type { PersonalTable } from "../../../kernel/personal-data.ts"
import type { Statements, Subject } from "./statements.ts"

/** The same for the same rows, so that an archive made twice is one. */
const MADE_AT = new Date("2020-01-01T00:00:00Z")

interface ArchiveNeeds {
  readonly database: Database
  readonly statements: Statements
  readonly tables: readonly PersonalTable[]
}

/** Writes a ZIP with a file of JSON for each table that has rows of the person. */
const writeArchive = async (
  { database, statements, tables }: ArchiveNeeds,
  subject: Subject,
  write: (chunk: Uint8Array) => Promise<void>,
) => {
  const ready: Uint8Array[] = []
  const zip = new Zip((error, chunk) => {
    if (error) throw error
    ready.push(chunk)
  })
  const flush = async () => {
    for (const chunk of ready.splice(0)) await write(chunk)
  }
  const open = (name: string) => {
    const file = new ZipDeflate(name)
    file.mtime = MADE_AT
    zip.add(file)
    return file
  }
  const writeTable = async (table: PersonalTable, tx: Db) => {
    let file: ZipDeflate | undefined
    for await (const rows of statements.read(tx, table, subject)) {
      const text = rows.map(row => JSON.stringify(row, null, 1)).join(",\n")
      const before = file ? ",\n" : "[\n"
      file ??= open(`${table.table.replace(".", "/")}.json`)
      file.push(strToU8(before + text))
      await flush()
    }
    file?.push(strToU8("\n]\n"), true)
    await flush()
  }

  for (const table of tables) await database.transaction(tx => writeTable(table, tx))
  const names = tables.map(({ table }) => table).join(", ")
  open("README.txt").push(strToU8(`What the platform holds of one person. Looked into: ${names}.\n`), true)
  zip.end()
  await flush()
}

/** The archive as a stream; a slow reader slows the reading of the tables. */
export const archiveOf = (needs: ArchiveNeeds, subject: Subject, signal: AbortSignal): Readable => {
  const out = new PassThrough()
  const write = async (chunk: Uint8Array) => {
    if (!out.write(chunk)) await once(out, "drain", { signal })
  }
  writeArchive(needs, subject, write).then(
    () => out.end(),
    error => out.destroy(error),
  )
  return out
}
