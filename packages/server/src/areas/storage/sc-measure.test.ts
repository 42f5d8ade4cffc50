import { test } from "node:test"
import { sql } from "kysely"
import { storageWorld } from "./testing/world.ts"
test("measure", async t => {
  const { p, svc, bucket, put } = await storageWorld(t)
  const { db } = p.database
  await put("seed", "")
  await sql`INSERT INTO storage.objects SELECT bucket_id, 'folder-' || n % 1000 || '/' || to_char(n, 'FM0000000'), project_id, size, etag, last_modified, http, metadata, checksums, checksum_type, part_count, addresses, sizes FROM storage.objects, generate_series(1, 1000000) AS n`.execute(db)
  const time = async (name: string, act: () => Promise<unknown>) => {
    await act()
    const times = []
    for (let n = 0; n < 9; n++) { const s = performance.now(); await act(); times.push(performance.now() - s) }
    console.log(name, times.sort((a, b) => a - b)[4]?.toFixed(1), "ms median,", times.at(-1)?.toFixed(1), "max")
  }
  await time("first 1000", () => svc.storage.listObjects({ bucket, limit: 1000 }))
  await time("prefix 1000", () => svc.storage.listObjects({ bucket, limit: 1000, prefix: "folder-777/" }))
  await time("1000 folders of 1M", () => svc.storage.listObjects({ bucket, limit: 1000, delimiter: "/" }))
  await time("delimiter in folder", () => svc.storage.listObjects({ bucket, limit: 1000, delimiter: "/", prefix: "folder-9/" }))
  await time("100 late", () => svc.storage.listObjects({ bucket, start_after: "folder-98/" }))
})
