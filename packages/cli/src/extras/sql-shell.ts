/** SQL from a prompt or a pipe over HTTP, for who has a key and no password. */
import { createInterface } from "node:readline/promises"
import { type Svc, SvcError } from "@svc/sdk"
import { printable, printReply } from "../output.ts"
import { exitCodes, type Terminal } from "../terminal.ts"

export interface ShellTarget {
  readonly databaseId: string
  readonly branchId: string | undefined
  readonly name: string
}

const HELP = "SQL ends with a semicolon. \\q leaves, \\dt lists tables."
const TABLES = `SELECT schemaname AS schema, tablename AS name FROM pg_catalog.pg_tables
  WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2`

/** Whether the text is a whole statement: a semicolon at the end, outside of quotes and comments. */
export const isComplete = (text: string): boolean => {
  const bare = text
    .replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$/g, "x")
    .replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, " ")
  return !/['"]/.test(bare) && /;\s*$/.test(bare)
}

export const runSqlShell = async (
  svc: Svc,
  target: ShellTarget,
  { stdin, out, err }: Terminal,
): Promise<number> => {
  let failed = false
  const run = async (sql: string) => {
    try {
      const { rows, command, row_count } = await svc.sql.execute({
        sql,
        database_id: target.databaseId,
        ...(target.branchId !== undefined && { branch_id: target.branchId }),
      })
      if (rows.length > 0) printReply(rows, out, err)
      err.line(`${command} ${row_count ?? ""}`.trim())
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      failed = true
      const { sqlstate, detail, hint } = error.details ?? {}
      err.line(printable(`ERROR: ${error.message}${sqlstate === undefined ? "" : ` (${sqlstate})`}`))
      if (detail !== undefined) err.line(printable(`DETAIL: ${detail}`))
      if (hint !== undefined) err.line(printable(`HINT: ${hint}`))
    }
  }

  const isTerminal = stdin.isTTY === true
  const lines = createInterface({
    input: stdin,
    output: isTerminal ? process.stderr : undefined,
    terminal: isTerminal,
  })
  if (isTerminal) err.line(HELP)
  let statement = ""
  const prompt = () => {
    if (!isTerminal) return
    lines.setPrompt(`${target.name}${statement ? "-" : "="}> `)
    lines.prompt()
  }
  prompt()
  for await (const line of lines) {
    if (statement === "" && /^\s*\\q\s*$/.test(line)) break
    if (statement === "" && /^\s*\\dt\s*$/.test(line)) await run(TABLES)
    else statement += `${line}\n`
    if (isComplete(statement)) {
      await run(statement.trim().replace(/;\s*$/, ""))
      statement = ""
    } else if (statement.trim() === "") statement = ""
    prompt()
  }
  lines.close()
  if (statement.trim() !== "") await run(statement.trim())
  return failed ? exitCodes.refused : exitCodes.ok
}
