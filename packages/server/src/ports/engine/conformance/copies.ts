/** Promises about copies: of the newest state, of a time, of a position in the log. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import { READER_ROLE, type RecoveryPoint } from "../port.ts"
import {
  created,
  type EngineFixture,
  newSubject,
  type OpenEngine,
  type RunSql,
  rejectsAs,
  type Subject,
  sessionsOf,
  sqlState,
} from "./fixture.ts"

const NO_SQL = "no PostgreSQL is behind this driver"
const INVALID_PASSWORD = "28P01"
const HEAD: RecoveryPoint = { kind: "head" }

type Sessions = ReturnType<typeof sessionsOf>

const numbersIn = async ({ owner }: Sessions, subject: Subject): Promise<readonly unknown[]> =>
  (await owner(subject, "SELECT n FROM number ORDER BY n")).map(row => row.n)

/** A volume with one number in it, and its history begun. */
const withNumber = async (fixture: EngineFixture, sessions: Sessions, subject: Subject): Promise<void> => {
  await eventually("the history", async () => (await fixture.port.window(subject.ref)).earliest)
  await sessions.owner(subject, "CREATE TABLE number AS SELECT 1 AS n")
}

/** A time, in whole milliseconds as callers give them, that all commits so far come before and all later ones after. */
const timeBetween = async ({ owner }: Sessions, subject: Subject): Promise<Date> => {
  const [now] = await owner(
    subject,
    "SELECT ceil(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms",
  )
  const time = new Date(Number(now?.ms))
  await eventually("the next millisecond", async () => {
    const [row] = await owner(subject, `SELECT clock_timestamp() > '${time.toISOString()}' AS past`)
    return row?.past
  })
  return time
}

export const branchTests = (open: OpenEngine): void => {
  test("a copy runs when it has been made, apart from its source, and outlives it", async t => {
    const fixture = await open(t)
    const { port } = fixture
    const source = await created(fixture)
    const target = newSubject(fixture)
    const from = await port.branch(source.ref, target.ref, HEAD, target.credentials)
    assert.match(from.lsn, /^[0-9A-F]+\/[0-9A-F]+$/)
    assert.ok(Math.abs(from.time.getTime() - Date.now()) < 600_000)
    assert.equal(port.running().find(({ id }) => id === target.ref.id)?.state, "active")
    await port.suspend(source.ref)
    assert.equal((await port.wake(target.ref)).wakeMs, 0)
    await port.destroy(source.ref)
    await port.suspend(target.ref)
    await port.wake(target.ref)
  })

  test("a copy that exists is not made again", async t => {
    const fixture = await open(t)
    const { port } = fixture
    const source = await created(fixture)
    const target = newSubject(fixture)
    const branch = () => port.branch(source.ref, target.ref, HEAD, target.credentials)
    const from = await branch()
    assert.deepEqual(await branch(), from)
    const other = await created(fixture)
    await rejectsAs("refused", () => port.branch(other.ref, target.ref, HEAD, target.credentials))
  })

  for (const state of ["that runs", "at rest"] as const) {
    test(`a copy of the newest state of a volume ${state} has all that was committed, under its own passwords`, async t => {
      const fixture = await open(t)
      if (!fixture.sql) return t.skip(NO_SQL)
      const sessions = sessionsOf(fixture, fixture.sql)
      const source = await created(fixture)
      await sessions.owner(source, "CREATE TABLE number AS SELECT 1 AS n")
      await sessions.owner(source, "CREATE ROLE somebody LOGIN PASSWORD 'known-to-the-source'")
      if (state === "at rest") await fixture.port.suspend(source.ref)
      const target = newSubject(fixture)
      await fixture.port.branch(source.ref, target.ref, HEAD, target.credentials)
      await sessions.owner(source, "INSERT INTO number VALUES (2)")
      await sessions.owner(target, "INSERT INTO number VALUES (3)")
      assert.deepEqual(await numbersIn(sessions, source), [1, 2])
      assert.deepEqual(await numbersIn(sessions, target), [1, 3])
      await isClosedTo(fixture, fixture.sql, source, target)
    })
  }

  test("copying the newest state disturbs no session of the source", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const sessions = sessionsOf(fixture, fixture.sql)
    const source = await created(fixture)
    const begun = await sessions.owner(source, "SELECT pg_postmaster_start_time()::text AS at")
    const target = newSubject(fixture)
    const copied = fixture.port.branch(source.ref, target.ref, HEAD, target.credentials)
    await sessions.owner(source, "CREATE TABLE number AS SELECT 1 AS n")
    await copied
    assert.deepEqual(await sessions.owner(source, "SELECT pg_postmaster_start_time()::text AS at"), begun)
  })
}

/** Nobody who knows a password of the source gets into the copy by it. */
const isClosedTo = async ({ port }: EngineFixture, sql: RunSql, source: Subject, target: Subject) => {
  const endpoint = await port.wake(target.ref)
  const known = [
    ["owner", source.credentials.owner],
    [READER_ROLE, source.credentials.reader],
    ["somebody", "known-to-the-source"],
  ] as const
  for (const [role, password] of known)
    await assert.rejects(sql({ endpoint, role, password }, "SELECT 1"), sqlState(INVALID_PASSWORD))
}

export const pointTests = (open: OpenEngine): void => {
  test("a copy at a time has what was committed until then and nothing after", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const sessions = sessionsOf(fixture, fixture.sql)
    const source = await created(fixture)
    await withNumber(fixture, sessions, source)
    const time = await timeBetween(sessions, source)
    await sessions.owner(source, "INSERT INTO number VALUES (2)")
    const target = newSubject(fixture)
    const from = await fixture.port.branch(source.ref, target.ref, { kind: "time", time }, target.credentials)
    assert.deepEqual(from.time, time)
    assert.deepEqual(await numbersIn(sessions, target), [1])
    assert.deepEqual(await numbersIn(sessions, source), [1, 2])
  })

  test("a copy at a time after the last commit has everything", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const sessions = sessionsOf(fixture, fixture.sql)
    const source = await created(fixture)
    await withNumber(fixture, sessions, source)
    const time = await timeBetween(sessions, source)
    const target = newSubject(fixture)
    await fixture.port.branch(source.ref, target.ref, { kind: "time", time }, target.credentials)
    assert.deepEqual(await numbersIn(sessions, target), [1])
  })

  test("a copy at a position has what was committed before it and nothing after", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const sessions = sessionsOf(fixture, fixture.sql)
    const source = await created(fixture)
    await withNumber(fixture, sessions, source)
    const [at] = await sessions.owner(source, "SELECT pg_current_wal_insert_lsn()::text AS lsn")
    const lsn = `${at?.lsn}`
    await sessions.owner(source, "INSERT INTO number VALUES (2)")
    const target = newSubject(fixture)
    const from = await fixture.port.branch(source.ref, target.ref, { kind: "lsn", lsn }, target.credentials)
    assert.equal(from.lsn, lsn)
    assert.deepEqual(await numbersIn(sessions, target), [1])
  })

  test("a copy can be taken back in time to before it was made wrong, once it has a history of its own", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const sessions = sessionsOf(fixture, fixture.sql)
    const source = await created(fixture)
    const first = newSubject(fixture)
    await fixture.port.branch(source.ref, first.ref, HEAD, first.credentials)
    await withNumber(fixture, sessions, first)
    const time = await timeBetween(sessions, first)
    await sessions.owner(first, "DROP TABLE number")
    await fixture.port.suspend(first.ref)
    const second = newSubject(fixture)
    await fixture.port.branch(first.ref, second.ref, { kind: "time", time }, second.credentials)
    assert.deepEqual(await numbersIn(sessions, second), [1])
  })

  test("a position that the log has not reached is refused, and leaves no volume behind", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const source = await created(fixture)
    const target = newSubject(fixture)
    await eventually("the history", async () => (await fixture.port.window(source.ref)).earliest)
    const point = { kind: "lsn", lsn: "FF/0" } as const
    await rejectsAs("refused", () => fixture.port.branch(source.ref, target.ref, point, target.credentials))
    await rejectsAs("missing", () => fixture.port.wake(target.ref))
  })
}
