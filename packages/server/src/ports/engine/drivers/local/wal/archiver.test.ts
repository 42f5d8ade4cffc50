import assert from "node:assert/strict"
import { readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import type { Worker } from "node:worker_threads"
import { postgresProcessesOf } from "../../../../../kernel/db/embedded/processes.ts"
import { eventually } from "../../../../../testing/eventually.ts"
import { pgVersions } from "../../../port.ts"
import { readControlFile } from "../control-file.ts"
import { findGaps, latestTimeline, readArchive } from "./archive.ts"
import { parseLsn } from "./position.ts"
import { type Cluster, makeTemplate, makeWalDir, type Template } from "./testing/cluster.ts"
import {
  assertHolds,
  inTime,
  openArchiver,
  reaches,
  restore,
  startFollowed,
  startWriters,
} from "./testing/load.ts"

/** As when the disk of the host is lost: nothing of the server or its files is left. */
const lose = async ({ server, dataDir }: Cluster) => {
  process.kill(server.pid, "SIGKILL")
  await server.exited
  // Its children notice a little later, and write until then.
  await eventually("no process of it is left", () => postgresProcessesOf(dataDir).length === 0)
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
}

/** The log of the archive is that of the server, byte for byte, up to a position; returns how many bytes that were. */
const assertSameLog = async (walDir: string, dataDir: string, end: bigint) => {
  const { segments, segmentBytes = 0 } = await readArchive(walDir)
  let compared = 0
  for (const { name, path, number } of segments) {
    const from = number * BigInt(segmentBytes)
    const bytes = Number(end - from < segmentBytes ? end - from : segmentBytes)
    if (!readdirSync(join(dataDir, "pg_wal")).includes(name)) continue
    const [own, servers] = [path, join(dataDir, "pg_wal", name)].map(file =>
      readFileSync(file).subarray(0, bytes),
    )
    assert.deepEqual(own, servers, name)
    compared += bytes
  }
  return compared
}

const guarantees: Readonly<Record<string, (t: TestContext, template: Template) => Promise<void>>> = {
  async "a commit that was acknowledged outlives the loss of the data directory"(t, template) {
    const walDir = makeWalDir(t)
    const { cluster, follower } = await startFollowed(t, template, { archiver: openArchiver(t), walDir })
    const writers = await startWriters(cluster, 4)
    await writers.more(500)
    await lose(cluster)
    await writers.stop()
    await inTime("the source is gone", follower.ended)
    await follower.stop()

    const restored = await restore(t, template, walDir)
    await assertHolds(restored, writers.acknowledged)
  },

  async "an archive goes on through the timelines of servers that were restored from it"(t, template) {
    const walDir = makeWalDir(t)
    const archiver = openArchiver(t)
    const first = await startFollowed(t, template, { archiver, walDir })
    const acknowledged: string[] = []
    let lost = first.cluster
    let follower = first.follower
    for (const name of ["first", "second", "third"]) {
      const writers = await startWriters(lost, 2, name)
      await writers.more(200)
      await lose(lost)
      await writers.stop()
      acknowledged.push(...writers.acknowledged)
      await inTime("the source is gone", follower.ended)
      await follower.stop()

      lost = await restore(t, template, walDir)
      await assertHolds(lost, acknowledged)
      follower = archiver.follow({ ...lost.source, walDir })
      await reaches(follower, "streaming")
    }
    const archive = await readArchive(walDir)
    assert.equal(latestTimeline(archive, 1), 4)
    assert.deepEqual(findGaps(archive), [])
  },

  async "a server that is shut down has handed over all of its log, though no commit waited for it"(
    t,
    template,
  ) {
    const walDir = makeWalDir(t)
    const archiver = openArchiver(t)
    const { cluster, follower, client } = await startFollowed(t, template, {
      archiver,
      walDir,
      settings: ["wal_keep_size=64MB"],
    })
    await client.query("INSERT INTO written SELECT repeat(md5(i::text), 20) FROM generate_series(1, 20000) i")
    await cluster.server.stop()
    await inTime("the source is gone", follower.ended)
    await follower.stop()

    // The checkpoint of the shutdown is the last record of the log.
    const { redo } = await readControlFile(cluster.dataDir)
    const flushed = parseLsn(follower.flushedLsn ?? "0/0")
    assert.ok(flushed > parseLsn(redo), `${follower.flushedLsn} is not past ${redo}`)
    assert.ok((await assertSameLog(walDir, cluster.dataDir, flushed)) > 1024 ** 2)
    assert.deepEqual(findGaps(await readArchive(walDir)), [])
  },

  async "commits go on when the thread has died, and none is missing"(t, template) {
    const threads: Worker[] = []
    const remember = (thread: Worker) => void threads.push(thread)
    process.on("worker", remember)
    t.after(() => process.off("worker", remember))
    const walDir = makeWalDir(t)
    const lines: string[] = []
    const archiver = openArchiver(t, lines)
    const { cluster, follower } = await startFollowed(t, template, { archiver, walDir })
    const writers = await startWriters(cluster, 4)
    for (const round of [1, 2]) {
      await writers.more(300)
      const states: string[] = []
      follower.onState(state => void states.push(state))
      await threads.at(-1)?.terminate()
      await reaches(follower, "streaming")
      assert.deepEqual(states, ["failed", "connecting", "streaming"])
      assert.equal(threads.length, round + 1)
    }
    await writers.more(300)
    assert.match(lines.join("\n"), /thread.*died/)
    await lose(cluster)
    await writers.stop()
    await inTime("the source is gone", follower.ended)
    await follower.stop()

    assert.deepEqual(findGaps(await readArchive(walDir)), [])
    const restored = await restore(t, template, walDir)
    await assertHolds(restored, writers.acknowledged)
  },

  async "a connection that is cut is made again, and no commit is missing"(t, template) {
    const walDir = makeWalDir(t)
    const { cluster, follower, client } = await startFollowed(t, template, {
      ...{ archiver: openArchiver(t), walDir },
    })
    const writers = await startWriters(cluster, 4)
    for (let cut = 0; cut < 3; cut++) {
      await writers.more(100)
      await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
    }
    await writers.more(100)
    await writers.stop()
    const { rows } = await client.query("SELECT pg_current_wal_flush_lsn() AS lsn")
    assert.equal(await follower.flushedTo(rows[0].lsn, 15_000), true)
    await lose(cluster)
    await inTime("the source is gone", follower.ended)
    await follower.stop()

    const restored = await restore(t, template, walDir)
    await assertHolds(restored, writers.acknowledged)
  },

  async "what a tenant asks of commits does not make them hang"(t, template) {
    const walDir = makeWalDir(t)
    const { client, follower } = await startFollowed(t, template, { archiver: openArchiver(t), walDir })
    for (const level of ["local", "remote_write", "on", "remote_apply"]) {
      await client.query(`SET synchronous_commit = ${level}`)
      await inTime(level, client.query("INSERT INTO written VALUES ('a row')"))
    }
    const { rows } = await client.query(
      "SELECT sync_state, write_lsn = flush_lsn AND flush_lsn = replay_lsn AS same FROM pg_stat_replication",
    )
    assert.deepEqual(rows, [{ sync_state: "sync", same: true }])
    assert.equal(await follower.flushedTo("FF/0", 20), false)
    await follower.stop()
    assert.equal(await follower.flushedTo("FF/0", 60_000), false)
  },
}

for (const version of pgVersions) {
  test(`PostgreSQL ${version}`, async t => {
    const template = await makeTemplate(t, version)
    for (const [guarantee, check] of Object.entries(guarantees)) {
      await t.test(guarantee, sub => check(sub, template))
    }
  })
}
