import assert from "node:assert/strict"
import { test } from "node:test"
import { pgVersions } from "../../../port.ts"
import { readArchive } from "./archive.ts"
import { lastCommit } from "./commits.ts"
import { parseLsn } from "./position.ts"
import { makeTemplate, makeWalDir } from "./testing/cluster.ts"
import { inTime, openArchiver, startFollowed } from "./testing/load.ts"

for (const version of pgVersions) {
  test(`the last commit in an archive is the server's last one (${version})`, async t => {
    const template = await makeTemplate(t, version)
    const walDir = makeWalDir(t)
    assert.equal(await lastCommit(await readArchive(walDir)), undefined)
    const { cluster, client, follower } = await startFollowed(t, template, {
      ...{
        archiver: openArchiver(t),
        walDir,
        settings: ["track_commit_timestamp=on", "synchronous_standby_names=svc_wal"],
      },
    })
    const matches = async () => {
      const { rows } = await client.query(
        "SELECT date_trunc('milliseconds', timestamp) AS time FROM pg_last_committed_xact()",
      )
      const found = await lastCommit(await readArchive(walDir))
      assert.deepEqual(found?.time, rows[0].time)
      return found
    }
    await matches()
    for (let round = 0; round < 300; round++)
      await client.query(
        "INSERT INTO written SELECT repeat(md5(i::text), $1) FROM generate_series(1, 10) i",
        [round],
      )
    const before = await matches()
    // What is rolled back commits nothing, and a switch leaves the rest of a segment empty.
    await client.query("BEGIN")
    await client.query("INSERT INTO written SELECT repeat(md5(i::text), 20) FROM generate_series(1, 10000) i")
    await client.query("ROLLBACK")
    assert.deepEqual(await matches(), before)
    await client.query("SELECT pg_switch_wal()")
    assert.deepEqual(await matches(), before)
    await client.query("INSERT INTO written VALUES ('last')")
    const { rows } = await client.query("SELECT pg_current_wal_insert_lsn() AS lsn")
    const last = await matches()
    assert.ok(parseLsn(last?.lsn ?? "0/0") <= parseLsn(rows[0].lsn))
    assert.ok(parseLsn(last?.lsn ?? "0/0") > parseLsn(before?.lsn ?? "0/0"))
    await cluster.server.stop()
    await inTime("the source is gone", follower.ended)
    assert.deepEqual(await lastCommit(await readArchive(walDir)), last)
  })
}
