import assert from "node:assert/strict"
import { test } from "node:test"
import { GIT_HOOK_BYTES_MAX } from "@svc/contract"
import { everyScope } from "../../testing/platform.ts"
import { startReceiver } from "../../testing/receiver.ts"
import {
  bitbucketPush,
  commit,
  giteaPush,
  githubHook,
  githubPullRequest,
  githubPush,
  gitlabPush,
  gitlabSignedPush,
  hex,
  ZEROS,
} from "./testing/hooks.ts"
import { worldOf } from "./testing/world.ts"

test("an integration is made, shown, listed, changed and deleted, and its secret is shown once", async t => {
  const { p, svc, projectId } = await worldOf(t)
  const { webhook_secret, ...made } = await svc.integrations.create({
    ...{ provider: "github", repository: "acme/shop", branch_filter: ["main", "release/*"] },
    ...{ path_filter: { exclude: ["docs/**"] }, build: { dockerfile_path: "Dockerfile" } },
  })
  assert.match(webhook_secret ?? "", /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(made.webhook_secret_hint, webhook_secret?.slice(-4))
  assert.equal(made.webhook_url, `${p.config.baseUrl}/hooks/vcs/${made.id}`)
  assert.deepEqual([made.project_id, made.status, made.auto_build], [projectId, "pending", true])
  const { id } = made
  assert.deepEqual(await svc.integrations.get({ id }), made)
  assert.deepEqual((await svc.integrations.list({})).data, [made])

  const changed = await svc.integrations.update({
    id,
    status: "paused",
    auto_deploy: true,
    branch_filter: [],
  })
  assert.deepEqual([changed.status, changed.auto_deploy, changed.branch_filter], ["paused", true, []])
  assert.deepEqual(changed.path_filter, { include: [], exclude: ["docs/**"] })
  assert.deepEqual(changed.build, { dockerfile_path: "Dockerfile" })

  assert.equal(await svc.integrations.delete({ id }), undefined)
  const gone = { status: 404, code: "integration_not_found" }
  await assert.rejects(svc.integrations.get({ id }), gone)
  await assert.rejects(svc.integrations.update({ id, preview: true }), gone)
  await assert.rejects(svc.integrations.delete({ id }), gone)
  await assert.rejects(svc.integrations.events({ id }), gone)
  await assert.rejects(svc.integrations.rotateSecret({ id }), gone)
  await assert.rejects(svc.integrations.test({ id }), gone)
})

test("a wrong provider, a wrong name, and a repository that is there already are refused with 400", async t => {
  const { p, svc, connect } = await worldOf(t)
  await connect()
  const refused = async (given: object, code: string) =>
    assert.rejects(
      svc.integrations.create({ provider: "github", repository: "acme/other", ...given }),
      { status: 400, code },
      JSON.stringify(given),
    )
  await refused({ provider: "sourceforge" }, "invalid_provider")
  await refused({ repository: "Acme/SHOP" }, "integration_exists")
  for (const repository of ["acme", "acme/../etc", "a/b/c", "acme/shop?x=1", "acme//shop", "acme/.."])
    await refused({ repository }, repository.length < 3 ? "validation_failed" : "invalid_parameter")
  await refused({ installation_id: 7 }, "invalid_parameter")
  await refused({ provider: "gitlab", installation_id: 7 }, "invalid_parameter")
  // The same repository of another provider, and groups in groups, are different things.
  await svc.integrations.create({ provider: "gitea", repository: "acme/shop" })
  await svc.integrations.create({ provider: "gitlab", repository: "acme/team/shop" })
  const organizationWide = p.as((await p.key("acme", everyScope, { project_id: null })).secret)
  await assert.rejects(organizationWide.integrations.list({}), { status: 400, code: "project_required" })
})

test("a signed push is answered at once, recorded, and told as a platform event", async t => {
  const { p, svc, deliver, connect, organizationId } = await worldOf(t)
  const { url } = await startReceiver(t)
  await svc.webhooks.register({ tenant_id: organizationId, url, event_types: ["integration.*"] })
  const { id, secret } = await connect({ branch_filter: ["main"] })
  const ping = await deliver(
    id,
    githubHook(secret, "ping", { zen: "Keep it", repository: { full_name: "acme/shop" } }),
  )
  assert.deepEqual([ping.type, ping.status], ["ping", "processed"])
  assert.equal((await svc.integrations.get({ id })).status, "active")

  const event = await deliver(id, githubPush(secret))
  assert.deepEqual([event.type, event.status, event.source], ["push", "processed", "webhook"])
  assert.deepEqual([event.ref, event.commit, event.commit_before], ["refs/heads/main", commit(2), commit(1)])
  assert.deepEqual([event.message, event.author, event.paths], ["Sell more", "octocat", ["src/main.ts"]])
  const { last_event, last_event_at } = await svc.integrations.get({ id })
  assert.deepEqual(last_event, { type: "push", ref: "refs/heads/main", commit: commit(2), build_id: null })
  assert.equal(last_event_at, new Date(p.clock.now()).toISOString())

  const [webhook] = (await svc.webhooks.list({ tenant_id: organizationId })).data
  const told = await svc.webhooks.deliveries({ tenant_id: organizationId, id: webhook?.id ?? "" })
  assert.deepEqual(
    told.data.map(({ event_type }) => event_type),
    ["integration.push"],
  )
})

test("a signed push of every provider is recorded, and one of another provider's making is not", async t => {
  const { p, connect, deliver, send } = await worldOf(t)
  const nowMs = p.clock.now()
  const makers = [
    ["gitlab", (secret: string) => gitlabPush(secret)],
    ["gitlab", (secret: string) => gitlabSignedPush(secret, nowMs)],
    ["gitea", (secret: string) => giteaPush(secret)],
    ["bitbucket", (secret: string) => bitbucketPush(secret)],
  ] as const
  for (const [at, [provider, make]] of makers.entries()) {
    // GitLab's have groups, so that the two of it are not the same.
    const { id, secret } = await connect({ provider, repository: "acme/shop" }).catch(() =>
      connect({ provider, repository: "acme/shop/again" }),
    )
    const event = await deliver(id, make(secret))
    assert.equal(event.commit, commit(2), provider)
    assert.match(event.reason ?? "none", at === 1 ? /another repository/ : /none/)
    assert.equal((await send(id, githubPush(secret))).status, 401, provider)
  }
})

test("a delivery larger than GitHub sends is refused, whoever it is for", async t => {
  const { send, connect } = await worldOf(t)
  const { id } = await connect()
  const body = "x".repeat(GIT_HOOK_BYTES_MAX + 1)
  const { headers } = githubPush("a secret that is wrong")
  for (const to of [id, "01890000-0000-7000-8000-000000000000"])
    assert.equal((await send(to, { headers, body })).status, 413)
})

test("a genuine delivery that cannot be understood is recorded as such", async t => {
  const { connect, send, events } = await worldOf(t)
  const { id, secret } = await connect()
  const hook = githubPush(secret)
  const headers = { ...hook.headers, "x-hub-signature-256": `sha256=${hex(secret, "not JSON")}` }
  assert.equal((await send(id, { headers, body: "not JSON" })).status, 202)
  assert.deepEqual(
    (await events(id)).map(({ type, status }) => [type, status]),
    [["other", "ignored"]],
  )
})

test("a delivery that comes again is acknowledged and not processed again", async t => {
  const { deliver, connect, events, send } = await worldOf(t)
  const { id, secret } = await connect()
  const hook = githubPush(secret, {}, "delivery-1")
  const first = await deliver(id, hook)
  const again = await deliver(id, hook)
  assert.deepEqual([again.id, again.duplicate], [first.id, true])
  await Promise.all(
    Array.from({ length: 5 }, () =>
      send(id, githubPush(secret, { after: commit(3), before: commit(2) }, "delivery-2")),
    ),
  )
  assert.equal((await events(id)).length, 2)

  // A captured body under a delivery id of the attacker's is genuine, and builds nothing.
  const replayed = await deliver(id, { ...hook, headers: { ...hook.headers, "x-github-delivery": "forged" } })
  assert.equal(replayed.status, "ignored")
})

test("what nobody signed with the secret is refused, and the same whether the integration exists or not", async t => {
  const { send, connect, svc } = await worldOf(t)
  const { id, secret } = await connect()
  const other = await connect({ repository: "acme/other" })
  const nowhere = "01890000-0000-7000-8000-000000000000"
  const { headers, body } = githubPush(secret)
  const { "x-hub-signature-256": signature = "", ...unsigned } = headers
  const forgeries = [
    githubPush("another secret altogether"),
    githubPush(other.secret),
    { headers, body: body.replace("acme/shop", "evil/shop") },
    { headers: unsigned, body },
    { headers: { ...unsigned, "x-hub-signature": signature }, body },
    { headers: { ...headers, "x-hub-signature-256": signature.replace("sha256=", "sha1=") }, body },
    { headers: { ...headers, "x-hub-signature-256": "" }, body },
    { headers: { ...unsigned, "x-gitlab-token": secret }, body },
  ]
  for (const forgery of forgeries) {
    const answers = await Promise.all(
      [id, nowhere].map(async to => {
        const response = await send(to, forgery)
        const { code, error } = (await response.json()) as { code: string; error: string }
        return [response.status, code, error]
      }),
    )
    assert.deepEqual(answers[0], answers[1])
    assert.deepEqual(answers[0]?.slice(0, 2), [401, "signature_invalid"])
  }
  assert.equal((await send(nowhere, { headers, body })).status, 401)
  assert.equal((await svc.integrations.events({ id })).total, 0)
})

test("the secret before a new one is accepted until its grace time is over", async t => {
  const { p, svc, deliver, send, connect } = await worldOf(t)
  const { id, secret } = await connect()
  const { webhook_secret: second = "" } = await svc.integrations.rotateSecret({
    id,
    grace_period_seconds: 60,
  })
  assert.notEqual(second, secret)
  await deliver(id, githubPush(secret))
  await deliver(id, githubPush(second, { before: commit(2), after: commit(3) }))
  await p.clock.advance(61_000)
  assert.equal((await send(id, githubPush(secret))).status, 401)
  const mine = { id, webhook_secret: "a secret of my own", grace_period_seconds: 0 }
  await svc.integrations.rotateSecret(mine)
  assert.equal((await send(id, githubPush(second))).status, 401)
  await deliver(id, githubPush(mine.webhook_secret, { before: commit(3), after: commit(4) }))
})

test("filters, pauses, other repositories and deletions leave pushes out, and say why", async t => {
  const { svc, deliver, connect } = await worldOf(t)
  const { id, secret } = await connect({ branch_filter: ["main"], path_filter: { exclude: ["docs/**"] } })
  const reasonOf = async (
    ...given: Parameters<typeof githubPush> extends [string, ...infer Rest] ? Rest : never
  ) => (await deliver(id, githubPush(secret, ...given))).reason
  assert.match((await reasonOf({ ref: "refs/heads/topic" })) ?? "", /branch_filter/)
  assert.match((await reasonOf({ ref: "refs/tags/v1" })) ?? "", /branch_filter/)
  assert.match((await reasonOf({ paths: ["docs/a.md"] })) ?? "", /path_filter/)
  assert.match((await reasonOf({ repository: "acme/other" })) ?? "", /another repository/)
  assert.match((await reasonOf({ after: ZEROS })) ?? "", /deleted/)
  await svc.integrations.update({ id, status: "paused" })
  assert.match((await reasonOf({ after: commit(9) })) ?? "", /paused/)
})

test("a pull request is heard where previews are on, once for each commit", async t => {
  const { svc, deliver, connect } = await worldOf(t)
  const { id, secret } = await connect()
  assert.equal((await deliver(id, githubPullRequest(secret))).reason, "preview is off")
  await svc.integrations.update({ id, preview: true })
  const event = await deliver(id, githubPullRequest(secret))
  assert.equal(event.status, "processed")
  assert.deepEqual(event.pull_request, { number: 12, action: "opened", source: "more", target: "main" })
  assert.equal((await deliver(id, githubPullRequest(secret, { action: "reopened" }))).status, "ignored")
  assert.equal(
    (await deliver(id, githubPullRequest(secret, { action: "labeled", head: commit(8) }))).status,
    "ignored",
  )
})

test("an event is processed once more on demand, by the filters as they are then", async t => {
  const { svc, deliver, settled, connect } = await worldOf(t)
  const { id, secret } = await connect({ branch_filter: ["release/*"] })
  const { id: event_id, status } = await deliver(id, githubPush(secret))
  assert.equal(status, "ignored")
  await svc.integrations.update({ id, branch_filter: ["main"] })
  const replay = await svc.integrations.replayEvent({ id, event_id })
  assert.equal(replay.source, "replay")
  assert.equal((await settled(id, replay.id)).status, "processed")
  const never = { id, event_id: "01890000-0000-7000-8000-000000000000" }
  await assert.rejects(svc.integrations.replayEvent(never), { status: 404, code: "delivery_not_found" })
})

test("nobody else's integration can be seen, changed, replayed or used", async t => {
  const { p, deliver, connect } = await worldOf(t)
  const { id, secret } = await connect()
  const { id: event_id } = await deliver(id, githubPush(secret))
  const stranger = p.as((await p.key("globex", everyScope)).secret).integrations
  const gone = { status: 404, code: "integration_not_found" }
  await assert.rejects(stranger.get({ id }), gone)
  await assert.rejects(stranger.update({ id, status: "paused" }), gone)
  await assert.rejects(stranger.delete({ id }), gone)
  await assert.rejects(stranger.rotateSecret({ id }), gone)
  await assert.rejects(stranger.events({ id }), gone)
  await assert.rejects(stranger.replayEvent({ id, event_id }), gone)
  await stranger.create({ provider: "github", repository: "acme/shop" })
})
