import { test } from "node:test"
import { startCluster } from "../testing/cluster.ts"
import pg from "pg"

const LIGHT = ["SET SESSION AUTHORIZATION DEFAULT","RESET ALL","CLOSE ALL","UNLISTEN *","SELECT pg_catalog.pg_advisory_unlock_all()","DISCARD TEMP","DISCARD SEQUENCES"]
const LIGHT2 = [...LIGHT.slice(0,4),"SELECT pg_catalog.pg_advisory_unlock_all(), EXISTS (SELECT FROM pg_catalog.pg_prepared_statement() WHERE from_sql)",...LIGHT.slice(5)]
test("b", async t => {
  const cl = await startCluster(t, 17)
  const pool = cl.pool("owner", { max: 20 })
  await pool.query("create table t(id int primary key, v text); insert into t select i, 'v'||i from generate_series(1,10000) i; ")
  const clients: any[] = []
  for (let i=0;i<20;i++) clients.push(await pool.connect())
  const mk = (mode: string) => (client: any, id: number) => new Promise<void>((resolve, reject) => {
    const st = client.__s ??= new Set()
    const light = mode === "light2" ? LIGHT2 : LIGHT
    const clean = { submit(){ return null }, handleRowDescription(){}, handleDataRow(){}, handleCommandComplete(){}, handleError(e: any){ reject(e) }, handleReadyForQuery(){ resolve() } }
    const main = { submit(con: any) {
      con.stream.cork()
      if (!st.has("q"+mode)) { con.parse({ name: "q"+mode, text: "select * from t where id=$1" }); if (mode!=="discard") st.add("q"+mode) }
      con.bind({ statement: "q"+mode, values: [String(id)] }); con.describe({ type: "P", name: "" }); con.execute({ portal: "", rows: 10001 }); con.sync()
      if (mode === "simple") con.query(LIGHT.join(";"))
      if (mode === "discard") con.query("DISCARD ALL")
      if (mode === "light" || mode === "light2") {
        light.forEach((sql, i) => { if (!st.has(mode+i)) { con.parse({ name: mode+i, text: sql }); st.add(mode+i) } con.bind({ statement: mode+i }); con.execute({ portal: "" }) })
        con.sync()
      }
      con.stream.uncork(); return null },
      handleRowDescription(){}, handleDataRow(){}, handleCommandComplete(){}, handleError(e: any){ reject(e) },
      handleReadyForQuery(){ if (mode === "none") resolve(); else client.query(clean) } }
    client.query(main)
  })
  for (const mode of ["none","simple","light","light2","discard","pg"]) {
    const run = mode === "pg" ? (c: any, id: number) => c.query({ name: "pgq", text: "select * from t where id=$1", values: [id] }) : mk(mode)
    const go = async (ms: number) => { let n=0; const end = Date.now()+ms; await Promise.all(clients.map(async c => { while (Date.now()<end) { await run(c, 1+n%10000); n++ } })); return n/ms*1000 }
    await go(500)
    console.log(mode, Math.round(await go(2000)))
  }
  // with 100 prepared
  for (const c of clients) for (let i=0;i<100;i++) await c.query({ name: "p"+i, text: "select * from t where id=$1 and "+i+"="+i, values: [1] })
  for (const mode of ["light","light2"]) { const run = mk(mode); const go = async (ms: number) => { let n=0; const end = Date.now()+ms; await Promise.all(clients.map(async c => { while (Date.now()<end) { await run(c, 1+n%10000); n++ } })); return n/ms*1000 }
    console.log(mode+" 100 prepared", Math.round(await go(2000))) }
  for (const c of clients) c.release()
})
