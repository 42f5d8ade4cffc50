import type { TestContext } from "node:test"
import type { PgVersion } from "../../../ports/engine/port.ts"
import { startCluster, type TestCluster } from "../../../testing/cluster.ts"

/** A bare instance whose commits wait for no archiver, because none runs beside it. */
export const startInstance = async (t: TestContext, version: PgVersion): Promise<TestCluster> => {
  const cluster = await startCluster(t, version)
  const admin = cluster.pool("svc_admin", { max: 1 })
  await admin.query("ALTER SYSTEM SET synchronous_standby_names = ''")
  await admin.query("SELECT pg_reload_conf()")
  const owner = cluster.pool("owner", { max: 1 })
  // A session learns of the change between two statements, so this one has not begun before it is in force.
  while ((await owner.query("SHOW synchronous_standby_names")).rows[0].synchronous_standby_names !== "") {
    await owner.query("SELECT pg_sleep(0.01)")
  }
  await owner.end()
  return cluster
}
