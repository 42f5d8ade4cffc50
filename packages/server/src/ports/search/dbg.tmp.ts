import { randomUUID } from "node:crypto"
import pg from "pg"
import { cloneDatabase } from "../../testing/database.ts"
import { openPostgresSearch } from "./drivers/postgres/driver.ts"
import { document, query } from "./conformance/fixture.ts"
const d = await cloneDatabase(); const pool = new pg.Pool({ connectionString: d.url, max: 2 }); pool.on("error", () => {})
const port = await openPostgresSearch({ pool }); const o = randomUUID()
const S = ["ba","co","di","fe","gu","ha","jo","ki","lu","me","no","pa","ri","so","tu","ve","wi","za"]
const w = (n: number) => { let s = ""; for (let r = n + 18; r > 0; r = Math.floor(r / 18)) s += S[r % 18]; return s }
const t = (k: number) => Array.from({ length: k }, () => w(Math.floor(20000 * Math.random() ** 4))).join(" ")
for (let b = 0; b < 4; b++) { const from = performance.now(); await port.put(o, Array.from({ length: 1000 }, (_, n) => document(`${b}-${n}`, t(60), { title: t(5) }))); console.log(b, (performance.now() - from).toFixed(0)) }
const q0 = pg.Client.prototype.query
const log: string[] = []
pg.Client.prototype.query = function (this: any, ...a: any[]) { const from = performance.now(); const r = q0.apply(this, a as never) as any; if (r?.then) r.then(() => log.push(`${String(a[0]).trim().slice(0, 30).replaceAll("\n", " ")}: ${(performance.now() - from).toFixed(1)}`), () => {}); return r } as never
for (const q of [w(300) + " ", w(5000) + " ", w(2) + " " + w(400) + " ", w(3000).slice(0, 4), w(0) + " ", w(18000) + "x "]) { log.length = 0; const from = performance.now(); const { total } = await port.search(o, query(q)); console.log(q, total, (performance.now() - from).toFixed(1), log.join(" | ")) }
pg.Client.prototype.query = q0
const e = await pool.query("EXPLAIN (ANALYZE, COSTS) SELECT count(*) FROM search.documents d WHERE project_id = $1 AND search.scoped(d.project_id, d.lexemes) @@ $2::tsquery", [o, `'${o.slice(-8)}${w(300)}'`])
console.log(e.rows.map(r => r["QUERY PLAN"]).join("\n"))
await pool.end(); await d[Symbol.asyncDispose]()
