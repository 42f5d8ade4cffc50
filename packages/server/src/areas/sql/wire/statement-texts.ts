/** The texts of a session's prepared statements and portals, as far as they fit: what is forgotten has no text. */

/** Characters of statement text that a connection may hold. */
const CHARACTERS_MAX = 256 * 1024
const STATEMENTS_MAX = 2_000
const PORTALS_MAX = 100

export interface StatementTexts {
  prepare(statement: string, sql: string): void
  bind(portal: string, statement: string): void
  /** The text behind a portal. */
  of(portal: string): string
  closeStatement(statement: string): void
  closePortal(portal: string): void
}

export const createStatementTexts = (): StatementTexts => {
  const statements = new Map<string, string>()
  const portals = new Map<string, string>()
  let characters = 0

  const forget = (statement: string) => {
    characters -= statements.get(statement)?.length ?? 0
    statements.delete(statement)
  }

  return {
    prepare(statement, sql) {
      forget(statement)
      for (const oldest of statements.keys()) {
        if (characters + sql.length <= CHARACTERS_MAX && statements.size < STATEMENTS_MAX) break
        forget(oldest)
      }
      statements.set(statement, sql)
      characters += sql.length
    },
    bind(portal, statement) {
      if (portals.size >= PORTALS_MAX && !portals.has(portal)) portals.clear()
      portals.set(portal, statements.get(statement) ?? "")
    },
    of: portal => portals.get(portal) ?? "",
    closeStatement: forget,
    closePortal(portal) {
      portals.delete(portal)
    },
  }
}
