/** Promises about what is in a volume, and who may see it. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import { created, newCredentials, type OpenEngine, sessionsOf, sqlState } from "./fixture.ts"

const NO_SQL = "no PostgreSQL is behind this driver"
const INVALID_PASSWORD = "28P01"
const READ_ONLY = "25006"
const FORBIDDEN = "42501"

export const dataTests = (open: OpenEngine): void => {
  test("what was committed before a rest is there after it", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const subject = await created(fixture)
    const { owner } = sessionsOf(fixture, fixture.sql)
    await owner(subject, "CREATE TABLE note AS SELECT 'kept' AS text")
    await fixture.port.suspend(subject.ref)
    assert.deepEqual(await owner(subject, "SELECT text FROM note"), [{ text: "kept" }])
  })

  test("callers who come while a volume starts share one start", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const subject = await created(fixture)
    const { owner } = sessionsOf(fixture, fixture.sql)
    await fixture.port.suspend(subject.ref)
    const started = await Promise.all(
      Array.from({ length: 5 }, () => owner(subject, "SELECT pg_postmaster_start_time()::text AS at")),
    )
    assert.equal(new Set(started.map(([row]) => row?.at)).size, 1)
  })

  test("the version is the one that was asked for, and damage to its pages is noticed", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const subject = await created(fixture)
    const { owner } = sessionsOf(fixture, fixture.sql)
    const text =
      "SELECT current_setting('server_version_num')::int / 10000 AS v, current_setting('data_checksums') AS c"
    assert.deepEqual(await owner(subject, text), [{ v: subject.ref.pgVersion, c: "on" }])
  })

  test("what a server keeps of a password is the newest, and nothing is told of roles that cannot log in by one", async t => {
    const fixture = await open(t)
    const { port, sql } = fixture
    if (!sql || !port.capabilities.verifiers) return t.skip("the driver does not read it")
    const subject = await created(fixture)
    const { owner } = sessionsOf(fixture, sql)
    const verifierOf = (role: string) => port.verifierOf(subject.ref, role)
    const form = /^SCRAM-SHA-256\$4096:[^$]+\$[^:]+:.+$/
    const first = await verifierOf("owner")
    assert.match(first ?? "", form)
    await owner(subject, "CREATE ROLE barred PASSWORD 'secret'")
    await owner(subject, "CREATE ROLE late LOGIN PASSWORD 'secret' VALID UNTIL '2000-01-01'")
    await owner(subject, "CREATE ROLE somebody LOGIN PASSWORD 'secret'")
    await port.setCredentials(subject.ref, newCredentials())
    const names = ["owner", "somebody", "barred", "late", "nobody", "svc_reader", "svc_owner", "svc_admin"]
    const [second, somebody, ...others] = await Promise.all(names.map(verifierOf))
    assert.match(second ?? "", form)
    assert.match(somebody ?? "", form)
    assert.notEqual(second, first)
    assert.deepEqual(others, Array(6).fill(undefined))
  })

  test("the owner owns the database and its schema, and is no superuser", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const subject = await created(fixture)
    const { owner } = sessionsOf(fixture, fixture.sql)
    await owner(subject, "CREATE SCHEMA apart CREATE TABLE apart.t (n int)")
    await owner(subject, "CREATE ROLE somebody LOGIN PASSWORD 'secret'")
    const [role] = await owner(subject, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    assert.equal(role?.rolsuper, false)
    await assert.rejects(owner(subject, "COPY (SELECT 1) TO '/tmp/out'"), sqlState(FORBIDDEN))
    await assert.rejects(owner(subject, "SELECT pg_read_file('PG_VERSION')"), sqlState(FORBIDDEN))
  })

  test("the reader reads everything and writes nothing", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const subject = await created(fixture)
    const { owner, reader } = sessionsOf(fixture, fixture.sql)
    await owner(subject, "CREATE SCHEMA apart; CREATE TABLE apart.t AS SELECT 1 AS n")
    assert.deepEqual(await reader(subject, "SELECT n FROM apart.t"), [{ n: 1 }])
    await assert.rejects(reader(subject, "INSERT INTO apart.t VALUES (2)"), sqlState(READ_ONLY))
    const lifted = "BEGIN READ WRITE; INSERT INTO apart.t VALUES (2); COMMIT"
    await assert.rejects(reader(subject, lifted), sqlState(FORBIDDEN))
    assert.deepEqual(await owner(subject, "SELECT n FROM apart.t"), [{ n: 1 }])
  })

  test("a look into a volume counts its sessions and its bytes", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const subject = await created(fixture)
    const { owner } = sessionsOf(fixture, fixture.sql)
    const cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'"
    const sleeping = assert.rejects(owner(subject, "SELECT pg_sleep(60)"), sqlState("57014"))
    const use = await eventually("the session", async () => {
      const seen = await fixture.port.inspect(subject.ref)
      return seen && seen.activeSessions > 0 ? seen : undefined
    })
    assert.ok(use.sessions >= use.activeSessions && use.logicalBytes > 1_000_000)
    await owner(subject, cancel)
    await sleeping
  })
}

export const passwordTests = (open: OpenEngine): void => {
  test("after passwords change only the new ones open a session, and open sessions stay", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const subject = await created(fixture)
    const { owner, reader } = sessionsOf(fixture, fixture.sql)
    const before = { ...subject }
    await owner(subject, "CREATE TABLE changed (at timestamptz)")
    // Waits until it is told that the passwords have changed.
    await owner(
      subject,
      `CREATE FUNCTION told() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
         PERFORM pg_advisory_lock(1);
         WHILE NOT EXISTS (SELECT FROM changed) LOOP PERFORM pg_sleep(0.02); END LOOP;
         RETURN 'still here';
       END $$`,
    )
    const waiting = owner(subject, "SELECT told() AS text")
    await eventually("the session", async () => {
      const [row] = await owner(
        subject,
        "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory'",
      )
      return row?.n === 1
    })
    subject.credentials = newCredentials()
    await fixture.port.setCredentials(subject.ref, subject.credentials)
    await owner(subject, "INSERT INTO changed VALUES (now())")
    assert.equal((await waiting)[0]?.text, "still here")
    assert.deepEqual(await reader(subject, "SELECT 1 AS n"), [{ n: 1 }])
    await assert.rejects(owner(before, "SELECT 1"), sqlState(INVALID_PASSWORD))
    await assert.rejects(reader(before, "SELECT 1"), sqlState(INVALID_PASSWORD))
  })

  test("passwords that change while a volume rests are in force when it wakes", async t => {
    const fixture = await open(t)
    if (!fixture.sql) return t.skip(NO_SQL)
    const subject = await created(fixture)
    const { owner } = sessionsOf(fixture, fixture.sql)
    const before = { ...subject }
    await fixture.port.suspend(subject.ref)
    subject.credentials = newCredentials()
    await fixture.port.setCredentials(subject.ref, subject.credentials)
    assert.deepEqual(await owner(subject, "SELECT 1 AS n"), [{ n: 1 }])
    await assert.rejects(owner(before, "SELECT 1"), sqlState(INVALID_PASSWORD))
  })
}
