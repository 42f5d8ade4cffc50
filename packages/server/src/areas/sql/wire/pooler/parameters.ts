/** Parameters of a session that each client of a pool has for itself, whatever server connection it is lent. */
import type { StartupParameters } from "../startup-packet.ts"

/** Those that servers report, so that every change of them is known. */
const TRACKED = [
  "client_encoding",
  "DateStyle",
  "TimeZone",
  "IntervalStyle",
  "standard_conforming_strings",
  "application_name",
  "default_transaction_read_only",
  "search_path",
] as const

const byName: ReadonlyMap<string, string> = new Map(TRACKED.map(name => [name.toLowerCase(), name]))
const tracked: ReadonlySet<string> = new Set(TRACKED)

export const isTracked = (name: string): boolean => tracked.has(name)

/** Names and values as latin1 text, a character a byte, as they came. */
export type Parameters = Map<string, string>

/**
 * The startup parameters that a client may change under way, and the others, which every server connection of its pool
 * begins with. Only servers of version 18 report the search path, so it is one of the others.
 */
export const splitStartup = (given: StartupParameters): { own: Parameters; shared: StartupParameters } => {
  const own: Parameters = new Map()
  const shared = new Map<string, string>()
  for (const [name, value] of given) {
    const known = byName.get(name.toLowerCase())
    if (known !== undefined && known !== "search_path") own.set(known, value)
    else if (!name.startsWith("_pq_.")) shared.set(name, value)
  }
  shared.delete("replication")
  return { own, shared }
}

/** Means the same whatever standard_conforming_strings says. */
const literal = (value: string): string => {
  const text = value.replaceAll("'", "''")
  return text.includes("\\") ? `E'${text.replaceAll("\\", "\\\\")}'` : `'${text}'`
}

const setting = (name: string, value: string): string =>
  // A list of names, as the server wrote it.
  name === "search_path"
    ? `SELECT pg_catalog.set_config('search_path', ${literal(value)}, false)`
    : `SET ${name} TO ${literal(value)}`

/** The statement that gives a server connection the wanted values; undefined when it has them. */
export const settingsFor = (
  wanted: ReadonlyMap<string, string>,
  current: ReadonlyMap<string, string>,
): string | undefined => {
  const statements: string[] = []
  for (const [name, value] of wanted) {
    const now = current.get(name)
    if (now !== undefined && now !== value) statements.push(setting(name, value))
  }
  return statements.length === 0 ? undefined : statements.join(";")
}
