import assert from "node:assert/strict"
import { readdirSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { pgVersions } from "../../../port.ts"
import { findGaps, readArchive } from "./archive.ts"
import { parseLsn, segmentAt, segmentName } from "./position.ts"
import { copyOf, makeTemplate, makeWalDir, startCluster, type Template } from "./testing/cluster.ts"
import {
  assertHolds,
  inTime,
  openArchiver,
  reaches,
  restore,
  startFollowed,
  startWriters,
} from "./testing/load.ts"

const SEGMENT_BYTES = 1024 ** 2
/** Every write to it fails with ENOSPC. */
const FULL_DEVICE = "/dev/full"

const failures: Readonly<Record<string, (t: TestContext, template: Template) => Promise<void>>> = {
  async "log that cannot be written is not acknowledged, and is written once it can be"(t, template) {
    const walDir = makeWalDir(t)
    const lines: string[] = []
    const { cluster, client, follower } = await startFollowed(t, template, {
      ...{ archiver: openArchiver(t, lines), walDir },
    })
    const here = segmentAt(parseLsn(follower.flushedLsn ?? "0/0"), SEGMENT_BYTES)
    const full = join(walDir, `${segmentName(1, here + 1n, SEGMENT_BYTES)}.partial`)
    symlinkSync(FULL_DEVICE, full)
    const writers = await startWriters(cluster, 2)
    await client.query("SELECT pg_switch_wal()")
    await reaches(follower, "failed")
    assert.match(lines.join("\n"), /^volume: the archive does not follow: ENOSPC: no space left on device/)
    const { rows } = await client.query(
      "SELECT pg_current_wal_flush_lsn() AS server, flush_lsn AS ours FROM pg_stat_replication RIGHT JOIN (VALUES (1)) ON true",
    )
    const limit = (here + 1n) * BigInt(SEGMENT_BYTES)
    assert.ok(parseLsn(rows[0].server) > limit)
    assert.ok(parseLsn(rows[0].ours ?? "0/0") <= limit)
    assert.ok(parseLsn(follower.flushedLsn ?? "0/0") <= limit)
    const stuck = writers.acknowledged.length

    rmSync(full)
    await reaches(follower, "streaming")
    await writers.more(200)
    await writers.stop()
    assert.ok(writers.acknowledged.length > stuck)
    assert.equal(lines.filter(line => line.includes("ENOSPC")).length, 1)
    await cluster.server.stop()
    await inTime("the source is gone", follower.ended)
    await assertHolds(await restore(t, template, walDir), writers.acknowledged)
  },

  async "an archive whose folder is gone fails, and is not begun again elsewhere"(t, template) {
    const walDir = makeWalDir(t)
    const lines: string[] = []
    const { cluster, client, follower } = await startFollowed(t, template, {
      ...{ archiver: openArchiver(t, lines), walDir },
    })
    renameSync(walDir, `${walDir}.away`)
    const writers = await startWriters(cluster, 2)
    await client.query("SELECT pg_switch_wal()")
    await reaches(follower, "failed")
    assert.match(lines.join("\n"), /the archive does not follow: ENOENT/)
    renameSync(`${walDir}.away`, walDir)
    await reaches(follower, "streaming")
    await writers.more(100)
    await writers.stop()
    assert.deepEqual(findGaps(await readArchive(walDir)), [])
  },

  async "log that the server has dropped is told as a gap, and the archive goes on after it"(t, template) {
    const walDir = makeWalDir(t)
    const lines: string[] = []
    const archiver = openArchiver(t, lines)
    const { cluster, client, follower } = await startFollowed(t, template, {
      ...{
        archiver,
        walDir,
        settings: ["max_slot_wal_keep_size=1MB", "max_wal_size=4MB", "min_wal_size=2MB"],
      },
    })
    await follower.stop()
    await client.query("INSERT INTO written SELECT repeat(md5(i::text), 20) FROM generate_series(1, 40000) i")
    await client.query("CHECKPOINT")
    const again = archiver.follow({ ...cluster.source, walDir })
    await reaches(again, "streaming")
    assert.match(lines.join("\n"), /volume: the archive has a gap from 0\/[0-9A-F]+ to 0\/[0-9A-F]+/)
    const [gap, ...more] = findGaps(await readArchive(walDir))
    assert.deepEqual(more, [])
    assert.ok(gap && parseLsn(gap.to) > parseLsn(gap.from))
  },

  async "an archive of another cluster, or of another history, is left as it is"(t, template) {
    const walDir = makeWalDir(t)
    const lines: string[] = []
    const archiver = openArchiver(t, lines)
    const { cluster, client, follower } = await startFollowed(t, template, { archiver, walDir, settings: [] })
    await client.query("INSERT INTO written SELECT repeat(md5(i::text), 20) FROM generate_series(1, 10000) i")
    await cluster.server.stop()
    await inTime("the source is gone", follower.ended)
    await follower.stop()
    const before = readdirSync(walDir)

    const older = await startCluster(t, template, copyOf(t, template))
    const behind = archiver.follow({ ...older.source, walDir })
    await reaches(behind, "failed")
    await behind.stop()
    assert.match(lines.join("\n"), /it reaches 0\/[0-9A-F]+, the server only 0\//)

    const stranger = await makeTemplate(t, template.version)
    const other = await startCluster(t, stranger, copyOf(t, stranger))
    const strange = archiver.follow({ ...other.source, walDir })
    await reaches(strange, "failed")
    await strange.stop()
    assert.match(lines.join("\n"), /that of another cluster/)
    assert.deepEqual(readdirSync(walDir), before)
  },

  async "a wrong password is told, and a follower can be stopped all the same"(t, template) {
    const lines: string[] = []
    const archiver = openArchiver(t, lines)
    const cluster = await startCluster(t, template, copyOf(t, template))
    const follower = archiver.follow({ ...cluster.source, password: "wrong", walDir: makeWalDir(t) })
    await reaches(follower, "failed")
    assert.match(lines.join("\n"), /password authentication failed/)
    assert.equal(follower.flushedLsn, null)
    await inTime("it is stopped", follower.stop())
    await inTime("its end is told", follower.ended)
  },
}

for (const version of pgVersions) {
  test(`PostgreSQL ${version}`, async t => {
    const template = await makeTemplate(t, version)
    for (const [guarantee, check] of Object.entries(failures)) {
      await t.test(guarantee, sub => check(sub, template))
    }
  })
}
