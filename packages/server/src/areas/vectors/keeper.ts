/**
 * Keeps the index behind the port up with the rows. Before a search it tells the index what has changed since the index's
 * position; an index that is gone is told everything.
 */
import { sql } from "kysely"
import { createSemaphore } from "../../kernel/concurrency/semaphore.ts"
import type { Database, Tx } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"
import { PortError } from "../../ports/port-error.ts"
import type { CollectionShape, VectorIndexPort } from "../../ports/vectors/port.ts"
import { type After, type ChangedVector, type CollectionRow, type Owner, vectorStore } from "./store.ts"
import { fromBytes } from "./values.ts"

export interface Keeper {
  /** Asks an index that has every change which the row knows of. */
  using<Result>(row: CollectionRow, ask: (shape: CollectionShape) => Promise<Result>): Promise<Result>
  /** After a write: lets an index that is awake follow in the background, so that the next search need not wait. */
  touch(row: CollectionRow): void
}

/** Bytes of values that one page of changes reads; a page holds up the main thread for some milliseconds. */
const PAGE_BYTES = 1024 * 1024
const PAGE_ROWS_MIN = 16
const PAGE_ROWS_MAX = 1_000
/** An index may be forgotten to make room while it is told the rows. */
const ATTEMPTS_MAX = 3
/** Each holds a connection of the database for as long as the index takes. */
const FLIGHTS_MAX = 2
/** Collections whose position is remembered; it saves a question to the index. */
const KNOWN_MAX = 10_000

export const shapeOf = (row: CollectionRow): CollectionShape => ({
  id: row.id,
  dimension: row.dimension,
  metric: row.metric as CollectionShape["metric"],
  type: row.index_type as CollectionShape["type"],
  m: row.m,
  efConstruction: row.ef_construction,
  count: row.vector_count,
})

const ownerOf = (row: CollectionRow): Owner => ({
  organizationId: row.organization_id,
  ownerId: row.owner_id,
})

const toChanges = (rows: readonly ChangedVector[]) => ({
  upserts: rows.flatMap(({ id, values, metadata }) =>
    values === null ? [] : { id, values: fromBytes(values), metadata: metadata ?? "{}" },
  ),
  deletes: rows.flatMap(({ id, values }) => (values === null ? id : [])),
})

/** Where all processes share an index, one of them at a time tells it changes, so that none overtakes another. */
const takeTurn = async (tx: Tx, { id }: CollectionRow): Promise<void> => {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`vectors ${id}`}, 0))`.execute(tx)
}

/** After many writes the planner knows little of the rows, and would sort all of them for every page. */
const readInOrder = async (tx: Tx): Promise<void> => {
  await sql`SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)`.execute(
    tx,
  )
}

/** Tells the index what it does not know, page by page, and gives the position it has then. */
const follow = async (index: VectorIndexPort, tx: Tx, row: CollectionRow): Promise<number> => {
  const shape = shapeOf(row)
  const position = await index.position(shape)
  const isFresh = position === undefined || position < row.forgotten_seq
  if (!isFresh && position >= row.last_seq) return position
  const rowsMax = Math.floor(PAGE_BYTES / (4 * row.dimension))
  const limit = Math.min(PAGE_ROWS_MAX, Math.max(PAGE_ROWS_MIN, rowsMax))
  // An index that starts anew has nothing to delete; what is deleted while it reads, it has perhaps read before.
  const deletionsAfter = isFresh ? row.last_seq : 0
  let after: After = { seq: isFresh ? 0 : position + 1, id: "" }
  for (let reset = isFresh; ; reset = false) {
    const rows = await vectorStore(tx).changes(ownerOf(row), row.id, after, { limit, deletionsAfter })
    const last = rows.at(-1)
    const isLast = last === undefined || rows.length < limit
    // Of the last one's sequence number there may be more rows on the next page.
    const through = isLast ? Math.max(row.last_seq, last?.seq ?? 0) : last.seq - 1
    await index.apply(shape, { reset, ...toChanges(rows), through })
    if (isLast) return through
    after = { seq: last.seq, id: last.id }
  }
}

export interface KeeperNeeds {
  readonly index: VectorIndexPort
  readonly database: Database
  readonly log: Logger
}

export const createKeeper = ({ index, database, log }: KeeperNeeds): Keeper => {
  const semaphore = createSemaphore(FLIGHTS_MAX)
  const known = new Map<string, number>()
  const flights = new Map<string, Promise<void>>()
  const touched = new Map<string, CollectionRow>()
  const following = new Set<string>()

  const follows = (row: CollectionRow): Promise<number> =>
    database.transaction(async tx => {
      if (index.capabilities.shared) await takeTurn(tx, row)
      await readInOrder(tx)
      return await follow(index, tx, row)
    })

  const fly = async (row: CollectionRow): Promise<void> => {
    const position = await semaphore.run(() => follows(row))
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(row.id, position)
  }

  /** A flight that is under way may have read the rows before the write that this row knows of. */
  const caughtUp = async (row: CollectionRow): Promise<void> => {
    while ((known.get(row.id) ?? -1) < row.last_seq) {
      const flight = flights.get(row.id) ?? fly(row).finally(() => flights.delete(row.id))
      flights.set(row.id, flight)
      await flight
    }
  }

  const followTouched = async (id: string): Promise<void> => {
    following.add(id)
    try {
      for (let row = touched.get(id); row; row = touched.get(id)) {
        touched.delete(id)
        await caughtUp(row)
      }
    } catch (error) {
      // The next search tries again, and says so if it cannot.
      known.delete(id)
      log.warn({ err: error, collection: id }, "updating a vector index failed; will retry")
    } finally {
      following.delete(id)
    }
  }

  return {
    async using(row, ask) {
      for (let attempt = 1; ; attempt++) {
        try {
          await caughtUp(row)
          return await ask(shapeOf(row))
        } catch (error) {
          const isMissing = error instanceof PortError && error.kind === "missing"
          if (!isMissing || attempt === ATTEMPTS_MAX) throw error
          known.delete(row.id)
        }
      }
    },
    touch(row) {
      if (index.state(row.id) === "cold") return
      touched.set(row.id, row)
      if (!following.has(row.id)) void followTouched(row.id)
    },
  }
}
