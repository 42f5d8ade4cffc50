import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { startAiUpstream } from "../../testing/ai-upstream.ts"
import { cloneDatabase } from "../../testing/database.ts"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { readFirstRun, spawnSvc } from "../../testing/process.ts"
import { html, indexed, researchWorld, startWeb, type Web, webEnv } from "./testing/world.ts"

const QUESTION = "Which solar panels are cheap?"

/** A page for each search, so that every step finds something. */
const spread = (web: Web) => {
  web.pages.set(
    "/1",
    html("Panels", "Cheap solar panels are made of silicon. Installers recommend an inverter."),
  )
  web.pages.set(
    "/2",
    html("Inverters", "An inverter for cheap solar panels costs a thousand. Silicon is scarce."),
  )
  web.pages.set(
    "/3",
    html("Silicon", "Silicon for solar panels is cheap in summer. Installers know the inverter."),
  )
  const paths = ["/1", "/2", "/3"] as const
  web.results = query => [[paths[web.searched.indexOf(query) % 3] ?? "/1", `About ${query}`, ""]]
}

const input = { query: QUESTION, sources: ["web"] as ["web"], breadth: 3, depth: 2, wait_seconds: 0 }

test("a deep research asks what the first pages lead to, in rounds, and reports with citations", async t => {
  const web = await startWeb(t)
  spread(web)
  const { svc } = await researchWorld(t, { env: webEnv(web) })
  const made = await svc.research.deep({ ...input, wait_seconds: 60 })
  assert.deepEqual([made.status, made.status_reason, made.progress], ["completed", null, 1])
  assert.equal(made.steps[0]?.query, QUESTION)
  assert.deepEqual(
    made.steps.map(({ round }) => round),
    [1, 1, 1, 2, 2],
  )
  assert.deepEqual(
    made.steps.map(({ query }) => query),
    web.searched,
  )
  assert.equal(new Set(web.searched).size, web.searched.length, "nothing is asked twice")
  assert.match(made.answer ?? "", /Cheap solar panels are made of silicon\. \[\d\]/)
  assert.deepEqual([made.technique, made.method], ["extractive", "embedded"])
  for (const { url } of made.sources) assert.ok(web.fetched.includes(new URL(url ?? "").pathname))
  const shown = await svc.research.status({ id: made.id })
  assert.deepEqual([shown.run, shown.total], [made, 1])
  assert.deepEqual(
    (await svc.research.status({})).runs.map(({ id, status }) => [id, status]),
    [[made.id, "completed"]],
  )
  await svc.research.remove({ id: made.id })
  await assert.rejects(svc.research.status({ id: made.id }), { status: 404 })
})

test("cancelling ends it at once and keeps what was found; a deadline gives a partial answer", async t => {
  const web = await startWeb(t)
  spread(web)
  const { p, svc } = await researchWorld(t, { env: webEnv(web) })
  const never = new Promise<void>(resolve => t.after(() => resolve()))
  web.hold = query => (query === QUESTION ? undefined : never)
  const second = () => eventually("the second step is under way", () => web.searched.length === 2)

  const { id } = await svc.research.deep(input)
  await second()
  const running = (await svc.research.status({ id })).run
  assert.deepEqual([running?.status, running?.steps.length], ["running", 1])
  assert.ok(running && running.progress > 0 && running.progress < 1)
  const cancelled = await svc.research.cancel({ id })
  assert.deepEqual([cancelled.status, cancelled.sources.length], ["cancelled", 1])
  assert.match(cancelled.answer ?? "", /made of silicon/)
  assert.equal((await svc.research.cancel({ id })).status, "cancelled", "again changes nothing")

  web.searched.length = 0
  const other = await svc.research.deep({ ...input, deadline_seconds: 20 })
  await second()
  await p.clock.advance(21_000)
  const partial = await eventually("its deadline ends it", async () => {
    const { run } = await svc.research.status({ id: other.id })
    return run?.status === "partial" && run
  })
  assert.match(partial.status_reason ?? "", /deadline/)
  assert.match(partial.answer ?? "", /made of silicon/)
  assert.notEqual(partial.finished_at, null)
})

test("a chat model plans and writes; where it cannot, sentences stay, unless it was demanded", async t => {
  const upstream = await startAiUpstream(t)
  const { svc } = await researchWorld(t, { env: { SVC_AI_URL: upstream.url, SVC_AI_MODEL: "gpt-test" } })
  await indexed(svc, { id: "1", title: "Panels", text: "Cheap solar panels are made of silicon." })
  const question = { query: QUESTION, breadth: 2, depth: 1, wait_seconds: 60 }
  const planned = { questions: [{ query: "silicon price", goal: "what it is made of" }] }
  upstream.next({ text: JSON.stringify(planned) }, { text: "## Panels\n\nOf silicon [1]." })
  const made = await svc.research.deep(question)
  assert.deepEqual(
    [made.status, made.answer, made.technique],
    ["completed", "## Panels\n\nOf silicon [1].", "abstractive"],
  )
  assert.deepEqual(
    made.steps.map(({ query, goal }) => [query, goal]),
    [
      [QUESTION, "the question itself"],
      ["silicon price", "what it is made of"],
    ],
  )
  upstream.always({ status: 400, body: '{"error":{"message":"no"}}' })
  const kept = await svc.research.deep(question)
  assert.deepEqual([kept.status, kept.technique], ["completed", "extractive"])
  assert.match(kept.warnings.join(), /could not plan.*could not write/)
  const failed = await svc.research.deep({ ...question, technique: "abstractive" })
  assert.deepEqual([failed.status, failed.technique], ["failed", "extractive"])
  assert.match(failed.status_reason ?? "", /could not write/)
})

test("a project has so many deep researches under way and no more", async t => {
  const web = await startWeb(t)
  const never = new Promise<void>(resolve => t.after(() => resolve()))
  web.hold = () => never
  const { svc } = await researchWorld(t, { env: webEnv(web) })
  for (let n = 0; n < 20; n++) await svc.research.deep(input)
  await assert.rejects(svc.research.deep(input), { code: "invalid_parameter", message: /not done yet/ })
  const { runs, total } = await svc.research.status({ limit: 2, offset: 1 })
  assert.deepEqual([runs.length, total], [2, 20])
})

test("a deep research goes on after kill -9 from the step that was under way", async t => {
  const database = await cloneDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const web = await startWeb(t)
  spread(web)
  const never = new Promise<void>(resolve => t.after(() => resolve()))
  web.hold = query => (query === QUESTION ? undefined : never)
  const doomed = spawnSvc(t, {
    env: {
      SVC_DATABASE_URL: database.url,
      SVC_MASTER_KEY: Buffer.alloc(32, "test").toString("base64"),
      SVC_RUNTIME: "process",
      SVC_WORKLOAD_NETWORK: "none",
      SVC_POSTGRES_PORT: "0",
      SVC_SSH_PORT: "off",
      ...webEnv(web),
    },
  })
  const baseUrl = await doomed.ready
  const { api_key: apiKey } = readFirstRun(doomed.dataDir)
  const { id } = await createSvc({ apiKey, baseUrl }).research.deep({ ...input, deadline_seconds: 3_600 })
  await eventually("the second step is under way", () => web.searched.length === 2)
  doomed.signal("SIGKILL")
  await doomed.exited

  web.hold = () => undefined
  const heir = await platform(t, { databaseUrl: database.url, env: webEnv(web) })
  const svc = heir.as(apiKey)
  const done = await eventually("another process ends it", async () => {
    await heir.clock.advance(5_000)
    const { run } = await svc.research.status({ id })
    return run?.status === "completed" && run
  })
  assert.equal(web.searched.filter(query => query === QUESTION).length, 1, "what was done is not done again")
  assert.equal(done.steps.length, 5)
  assert.match(done.answer ?? "", /\[1\]/)
})
