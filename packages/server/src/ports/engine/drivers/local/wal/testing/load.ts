import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import type pg from "pg"
import { atEnd } from "../../../../../../kernel/db/embedded/testing/directories.ts"
import { readControlFile } from "../../control-file.ts"
import { readArchive, replayFiles } from "../archive.ts"
import { type Archiver, createArchiver, type WalFollower } from "../archiver.ts"
import type { FollowerState } from "../messages.ts"
import { type Cluster, copyOf, prepareRecovery, startCluster, type Template } from "./cluster.ts"

export const SYNCHRONOUS = "synchronous_standby_names=svc_wal"
const WAIT_MS = 60_000

export const openArchiver = (t: TestContext, lines: string[] = []): Archiver => {
  const archiver = createArchiver(line => void lines.push(line))
  atEnd(t, () => archiver[Symbol.asyncDispose]())
  return archiver
}

/** The promise, or an error that says what did not happen. */
export const inTime = async <Value>(what: string, promise: Promise<Value>): Promise<Value> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`never came true: ${what}`)), WAIT_MS)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}

export const reaches = (follower: WalFollower, wanted: FollowerState): Promise<void> =>
  inTime(
    `the follower is ${wanted}`,
    new Promise<void>(resolve => {
      if (follower.state === wanted) resolve()
      follower.onState(state => state === wanted && resolve())
    }),
  )

/** A server with a table `written`, whose log is followed. */
export const startFollowed = async (
  t: TestContext,
  template: Template,
  options: { archiver: Archiver; walDir: string; settings?: readonly string[] },
) => {
  const { archiver, walDir, settings = [SYNCHRONOUS] } = options
  const cluster = await startCluster(t, template, copyOf(t, template), settings)
  const follower = archiver.follow({ ...cluster.source, walDir })
  await reaches(follower, "streaming")
  const client = await cluster.connect()
  await client.query("CREATE TABLE written (id text)")
  return { cluster, follower, client }
}

/** Clients that insert one row after another, and what they were told is committed. */
export const startWriters = async (cluster: Cluster, clients: number, name = "row") => {
  const acknowledged: string[] = []
  let stopped = false
  const write = async (client: pg.Client, writer: number) => {
    for (let count = 0; !stopped; count++) {
      const id = `${name} ${writer}:${count}`
      await client.query("INSERT INTO written VALUES ($1)", [id])
      acknowledged.push(id)
    }
  }
  const sessions = await Promise.all(Array.from({ length: clients }, () => cluster.connect()))
  const writers = sessions.map((client, writer) => write(client, writer).catch(() => undefined))
  return {
    acknowledged,
    /** Waits until so many more commits were acknowledged. */
    async more(count: number) {
      const wanted = acknowledged.length + count
      const deadline = Date.now() + WAIT_MS
      while (acknowledged.length < wanted) {
        assert.ok(Date.now() < deadline, `only ${acknowledged.length} of ${wanted} commits`)
        await new Promise(setImmediate)
      }
    },
    /** Settles when the last statement has ended, or failed because the server is gone. */
    async stop() {
      stopped = true
      await Promise.all(writers)
    },
  }
}

/** A copy of the template that has replayed the whole archive; its commits wait for a follower. */
export const restore = async (t: TestContext, template: Template, walDir: string): Promise<Cluster> => {
  const from = await readControlFile(template.dataDir)
  const { files, gap } = replayFiles(await readArchive(walDir), { from })
  assert.equal(gap, undefined)
  const dataDir = copyOf(t, template)
  await prepareRecovery(dataDir, files)
  return startCluster(t, template, dataDir, [SYNCHRONOUS, "restore_command=false"])
}

/** Every row that was acknowledged is there. */
export const assertHolds = async (cluster: Cluster, acknowledged: readonly string[]): Promise<void> => {
  const client = await cluster.connect()
  const { rows } = await client.query<{ id: string }>("SELECT id FROM written")
  const present = new Set(rows.map(({ id }) => id))
  assert.deepEqual(
    acknowledged.filter(id => !present.has(id)),
    [],
  )
}
