/** What the conformance tests share. */
import assert from "node:assert/strict"
import { randomBytes, randomUUID } from "node:crypto"
import type { TestContext } from "node:test"
import pg from "pg"
import { PortError, type PortErrorKind } from "../../port-error.ts"
import {
  DATABASE_NAME,
  type Endpoint,
  type EnginePort,
  OWNER_ROLE,
  READER_ROLE,
  type VolumeCredentials,
  type VolumeRef,
} from "../port.ts"

export type Row = Readonly<Record<string, unknown>>

/** Runs one statement in a session of its own. */
export type RunSql = (
  at: { readonly endpoint: Endpoint; readonly role: string; readonly password: string },
  text: string,
) => Promise<readonly Row[]>

export interface EngineFixture {
  readonly port: EnginePort
  /** Left out where there is no PostgreSQL behind the driver. */
  readonly sql?: RunSql
}

/** Gives a test an engine of its own, and frees it with all its volumes after the test. */
export type OpenEngine = (t: TestContext) => Promise<EngineFixture>

/** For drivers whose endpoints can be reached from the test. */
export const runSql: RunSql = async ({ endpoint, role, password }, text) => {
  const { host, port, tls } = endpoint
  const client = new pg.Client({
    ...{ host, port, user: role, password, database: DATABASE_NAME, connectionTimeoutMillis: 10_000 },
    ssl: tls ? { ca: tls.ca, servername: tls.servername } : false,
  })
  client.on("error", () => undefined)
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

export const newCredentials = (): VolumeCredentials => ({
  owner: randomBytes(12).toString("base64url"),
  reader: randomBytes(12).toString("base64url"),
})

/** A volume of a test, with the passwords it has now. */
export interface Subject {
  readonly ref: VolumeRef
  credentials: VolumeCredentials
}

export const newSubject = ({ port }: EngineFixture): Subject => {
  const [pgVersion] = port.capabilities.versions.toReversed()
  const [tier] = port.capabilities.tiers
  assert.ok(pgVersion && tier, "an engine offers at least one version and one tier")
  const ref = { id: randomUUID(), pgVersion, tier }
  return { ref, credentials: newCredentials() }
}

export const created = async (fixture: EngineFixture): Promise<Subject> => {
  const subject = newSubject(fixture)
  await fixture.port.create(subject.ref, subject.credentials)
  return subject
}

export const rejectsAs = (kind: PortErrorKind, act: () => Promise<unknown>): Promise<void> =>
  assert.rejects(act, (error: unknown) => {
    assert.ok(error instanceof PortError, `${error}`)
    assert.equal(error.kind, kind, error.message)
    return true
  })

/** Statements as a volume's roles, waking it as any caller would. */
export const sessionsOf = ({ port }: EngineFixture, sql: RunSql) => {
  const as =
    (role: string, passwordOf: (credentials: VolumeCredentials) => string) =>
    async ({ ref, credentials }: Subject, text: string): Promise<readonly Row[]> =>
      sql({ endpoint: await port.wake(ref), role, password: passwordOf(credentials) }, text)
  return {
    owner: as(OWNER_ROLE, ({ owner }) => owner),
    reader: as(READER_ROLE, ({ reader }) => reader),
  }
}

export const sqlState = (expected: string) => (error: unknown) => {
  assert.equal((error as { code?: string }).code, expected, `${error}`)
  return true
}
