/** What is known of a pooled session: which statements it has prepared, and how it is made as good as new. */
import type pg from "pg"
import type { Wire } from "./pipeline.ts"

export interface Prepared {
  readonly name: string
  /** OIDs of the parameters, once the server has told them. */
  parameters: readonly number[] | undefined
}

const PREPARED_MAX = 100
/** Longer texts are hardly ever sent twice, and a server keeps each as long as the session lives. */
const PREPARED_LENGTH_MAX = 10_000

export interface SessionState {
  /** The statement of that text, if this session has it. */
  find(text: string): Prepared | undefined
  /** Sends Parse for the statement that `CLEAN` executes, unless the session has it. Nothing before it may fail. */
  prepareCleaning(wire: Wire): void
  /** Sends Parse, under a name when the text is worth keeping. */
  prepare(wire: Wire, text: string): Prepared
  /** The server may or may not have it: it is closed before anything else is prepared. */
  doubt(text: string): void
  /** The server may have other statements than it seemed: all are prepared anew. */
  distrust(): void
  /** The server has forgotten all of them. */
  forget(): void
}

const LEFTOVERS = "svc_leftovers"
/** Prepared, because planning it anew cost more than all the rest of `CLEAN`, and as much as a small INSERT. */
const LEFTOVERS_QUERY =
  "SELECT pg_catalog.pg_advisory_unlock_all(), EXISTS (SELECT FROM pg_catalog.pg_prepared_statement() WHERE from_sql)"

const UNNAMED: Prepared = Object.freeze({ name: "", parameters: undefined })

const createSessionState = (): SessionState => {
  const prepared = new Map<string, Prepared>()
  let doubtful: string[] = []
  let count = 0
  let canClean = false

  return {
    prepareCleaning(wire) {
      if (!canClean) wire.parse({ name: LEFTOVERS, text: LEFTOVERS_QUERY })
      canClean = true
    },
    find(text) {
      const known = prepared.get(text)
      if (!known) return undefined
      // The least recently used is the first of the map.
      prepared.delete(text)
      prepared.set(text, known)
      return known
    },
    prepare(wire, text) {
      for (const name of doubtful) wire.close({ type: "S", name })
      doubtful = []
      if (text.length > PREPARED_LENGTH_MAX) {
        wire.parse({ text })
        return { ...UNNAMED }
      }
      const [oldest] = prepared
      if (prepared.size >= PREPARED_MAX && oldest) {
        prepared.delete(oldest[0])
        wire.close({ type: "S", name: oldest[1].name })
      }
      count += 1
      const made: Prepared = { name: `svc_${count}`, parameters: undefined }
      prepared.set(text, made)
      wire.parse({ name: made.name, text })
      return made
    },
    doubt(text) {
      const known = prepared.get(text)
      if (!known) return
      prepared.delete(text)
      doubtful.push(known.name)
    },
    distrust() {
      for (const { name } of prepared.values()) doubtful.push(name)
      prepared.clear()
    },
    forget() {
      prepared.clear()
      doubtful = []
      canClean = false
    },
  }
}

const states = new WeakMap<pg.ClientBase, SessionState>()

export const stateOf = (client: pg.ClientBase): SessionState => {
  const known = states.get(client) ?? createSessionState()
  states.set(client, known)
  return known
}

/**
 * DISCARD ALL but for DEALLOCATE ALL and DISCARD PLANS: our statements stay prepared, which spares a busy server most
 * of its parsing and planning. The prepared query tells whether the caller left statements of its own, directly or from
 * within a function; then DISCARD ALL is run as well.
 */
export const CLEAN = [
  "SET SESSION AUTHORIZATION DEFAULT",
  // To the role that the session began with.
  "RESET ROLE",
  "RESET ALL",
  "CLOSE ALL",
  "UNLISTEN *",
  `EXECUTE ${LEFTOVERS}`,
  "DISCARD TEMP",
  "DISCARD SEQUENCES",
].join(";")

/** One after the other: the first may not be in a transaction, and text with two statements is one. */
const CLEAN_ALL = ["DISCARD ALL", "RESET ROLE"]

/** Makes a session that ran more than plain statements as good as new. Rejects when it cannot be. */
export const discardAll = async (client: pg.ClientBase): Promise<void> => {
  for (const statement of CLEAN_ALL) await client.query(statement)
  stateOf(client).forget()
}
