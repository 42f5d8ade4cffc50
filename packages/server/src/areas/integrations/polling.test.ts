import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { defineModule } from "../../kernel/area.ts"
import { provide } from "../../kernel/token.ts"
import { startFakeProvider } from "../../ports/git/testing/fake-provider.ts"
import { eventually } from "../../testing/eventually.ts"
import { type PushToBuild, pushBuilder } from "./offers.ts"
import { commit, gitlabPush } from "./testing/hooks.ts"
import { worldOf } from "./testing/world.ts"

const POLL_MS = 300_000

/** A project that is connected to a GitLab, and a builder that notes what it is handed. */
const scene = async (t: TestContext) => {
  const gitlab = await startFakeProvider(t, "gitlab")
  const branches = new Map([["main", commit(1)]])
  gitlab.repositories.set("acme/shop", { id: 1, branches })
  const pushes: PushToBuild[] = []
  const builder = defineModule({
    name: "builder",
    title: "Builder",
    contract: [],
    needs: {},
    provides: [pushBuilder],
    load: async () => ({
      start: () => ({
        operations: [],
        provides: [
          provide(pushBuilder, {
            async onPush(_db, push) {
              pushes.push(push)
              return "01890000-0000-7000-8000-000000000001"
            },
          }),
        ],
      }),
    }),
  })
  const world = await worldOf(t, { areas: [builder] })
  const { p, svc, connect } = world
  await svc.integrations.putCredentials({ provider: "gitlab", token: gitlab.token, base_url: gitlab.url })
  const { id, secret } = await connect({ provider: "gitlab" })

  const polledAt = async () => (await svc.integrations.get({ id })).last_polled_at
  /** Lets five minutes pass, and waits until the branches were looked at. */
  const poll = async () => {
    const before = await polledAt()
    await p.clock.advance(POLL_MS)
    await eventually("the branches were looked at", async () => (await polledAt()) !== before)
  }
  const processed = async () => {
    const events = await eventually("no event waits", async () => {
      const all = await world.events(id)
      return !all.some(({ status }) => status === "received") && all
    })
    return events.filter(({ status }) => status === "processed")
  }
  return { ...world, gitlab, branches, pushes, id, gitlabSecret: secret, poll, processed }
}

test("a push that the provider did not tell is found by looking, and built once", async t => {
  const { svc, branches, pushes, id, poll, processed, deliver, gitlabSecret } = await scene(t)
  await poll()
  // What was there before the integration is no push.
  assert.deepEqual(await processed(), [])
  assert.equal((await svc.integrations.get({ id })).status, "active")

  branches.set("main", commit(2)).set("topic", commit(3))
  await poll()
  const found = await processed()
  assert.deepEqual(found.map(({ ref, commit: at, source }) => [ref, at, source]).sort(), [
    ["refs/heads/main", commit(2), "poll"],
    ["refs/heads/topic", commit(3), "poll"],
  ])
  assert.equal(found[0]?.build_id, "01890000-0000-7000-8000-000000000001")
  assert.deepEqual(pushes.map(push => push.commit).sort(), [commit(2), commit(3)])
  assert.deepEqual(
    [pushes[0]?.repository, pushes[0]?.provider, pushes[0]?.pullRequest],
    ["acme/shop", "gitlab", null],
  )

  // The provider tells of it after all.
  assert.equal((await deliver(id, gitlabPush(gitlabSecret))).reason, "this commit is known already")
  await poll()
  assert.equal(pushes.length, 2)
})

test("a push that was told is not found again by looking", async t => {
  const { branches, pushes, id, poll, deliver, gitlabSecret } = await scene(t)
  await poll()
  branches.set("main", commit(2))
  assert.equal((await deliver(id, gitlabPush(gitlabSecret))).status, "processed")
  await poll()
  assert.equal(pushes.length, 1)
})

test("what was pushed during a pause is not made up for", async t => {
  const { svc, id, branches, pushes, poll, processed } = await scene(t)
  await poll()
  await svc.integrations.update({ id, status: "paused" })
  branches.set("main", commit(2))
  await svc.integrations.update({ id, status: "active" })
  await poll()
  branches.set("main", commit(3))
  await poll()
  assert.deepEqual(
    (await processed()).map(event => event.commit),
    [commit(3)],
  )
  assert.equal(pushes.length, 1)
})

test("a branch that was deleted and made again is new", async t => {
  const { branches, pushes, poll, processed } = await scene(t)
  await poll()
  branches.delete("main")
  await poll()
  branches.set("main", commit(1))
  await poll()
  assert.equal((await processed()).length, 1)
  assert.equal(pushes.length, 1)
})

test("what did not change costs the provider nothing, and a request for patience is heeded", async t => {
  const { p, svc, gitlab, id, poll } = await scene(t)
  await poll()
  await poll()
  const asked = gitlab.requests.filter(request => request.includes("/branches"))
  assert.equal(asked.length, 2)

  gitlab.answers.push([429, { "retry-after": "900" }])
  await p.clock.advance(POLL_MS)
  const error = await eventually(
    "the failure is told",
    async () => (await svc.integrations.get({ id })).last_error,
  )
  assert.match(error, /patience until/)
  const count = gitlab.requests.length
  await p.clock.advance(POLL_MS)
  await p.clock.advance(POLL_MS)
  assert.equal(gitlab.requests.length, count)
  await poll()
  assert.equal((await svc.integrations.get({ id })).last_error, null)
})

test("a repository that can no longer be read shows, and recovers; a paused one is left alone", async t => {
  const { p, svc, gitlab, id, poll } = await scene(t)
  await poll()
  gitlab.token = "another"
  await p.clock.advance(POLL_MS)
  await eventually("it shows", async () => (await svc.integrations.get({ id })).status === "error")
  gitlab.token = "a-token"
  await poll()
  assert.equal((await svc.integrations.get({ id })).status, "active")
  await svc.integrations.update({ id, status: "paused" })
  const count = gitlab.requests.length
  await p.clock.advance(2 * POLL_MS)
  assert.equal(gitlab.requests.length, count)
})

test("events are kept for thirty days, and nothing of a deleted project is", async t => {
  const { p, svc, id, branches, send, deliver, gitlabSecret } = await scene(t)
  branches.set("main", commit(2))
  await deliver(id, gitlabPush(gitlabSecret))
  await p.clock.advance(29 * 86_400_000)
  assert.equal((await svc.integrations.events({ id })).total, 1)
  await p.clock.advance(2 * 86_400_000)
  await eventually("it is forgotten", async () => (await svc.integrations.events({ id })).total === 0)

  const { projectId } = await p.tenant("acme")
  await (await p.person("acme")).projects.delete({ id: projectId })
  assert.equal((await send(id, gitlabPush(gitlabSecret))).status, 401)
  await p.clock.advance(3_600_000)
  await eventually("everything is gone", async () => {
    const rows = await p.database.db.selectFrom("integrations.credentials").select("kind").execute()
    return rows.length === 0
  })
})
