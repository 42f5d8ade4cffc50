import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { refused } from "../accounts/testing/people.ts"

test("a key bound to a project sees that project, and a key of the whole organization sees all", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { projectId } = await p.tenant("acme")
  await p.clock.advance(1000)
  const web = await person.projects.create({ name: "web" })
  const bound = await p.client("acme", "kv:read")
  const whole = p.as((await p.key("acme", ["kv:read"], { project_id: null })).secret)

  assert.deepEqual(
    (await bound.projects.list()).data.map(({ id }) => id),
    [projectId],
  )
  await refused(bound.projects.get({ id: web.id }), "project_not_found")
  assert.deepEqual(
    (await whole.projects.list()).data.map(({ id }) => id),
    [web.id, projectId],
  )
  assert.equal((await whole.projects.get({ id: web.id })).name, "web")
})

test("a project of another organization answers like one that never existed", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const stranger = await p.person("globex")
  const NOBODY = "00000000-0000-7000-8000-000000000000"

  for (const id of [projectId, NOBODY]) {
    for (const attempt of [
      () => stranger.projects.get({ id }),
      () => stranger.projects.update({ id, name: "mine" }),
      () => stranger.projects.delete({ id }),
    ]) {
      assert.equal((await refused(attempt(), "project_not_found")).message, "project not found")
    }
  }
})

test("a project has its name alone, whatever the case, until it is deleted", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const web = await person.projects.create({ name: "Web" })
  const api = await person.projects.create({ name: "api" })
  await refused(person.projects.create({ name: "WEB" }), "name_taken")
  await refused(person.projects.update({ id: api.id, name: "web" }), "name_taken")
  const sameSlug = await person.projects.create({ name: "Web!" })
  assert.equal(web.slug, "web")
  assert.match(sameSlug.slug, /^web-[a-z0-9]{6}$/)

  await person.projects.delete({ id: web.id })
  await person.projects.create({ name: "web" })
})

test("a project comes with a publishable key, and shows the newest that lives", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id, publishable_key_id } = await person.projects.create({ name: "web" })
  const first = await person.keys.get({ id: publishable_key_id ?? "" })
  assert.deepEqual([first.type, first.project_id, first.status], ["publishable", id, "active"])

  const newest = await person.keys.create({ name: "second", type: "publishable", project_id: id })
  assert.equal((await person.projects.get({ id })).publishable_key_id, newest.id)
  await person.keys.revoke({ id: newest.id })
  assert.equal((await person.projects.get({ id })).publishable_key_id, first.id)
  await person.keys.revoke({ id: first.id })
  assert.equal((await person.projects.get({ id })).publishable_key_id, null)
})

test("a renamed project is known by its new name at once", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id } = await person.projects.create({ name: "web" })
  const whole = p.as((await p.key("acme", ["kv:read"], { project_id: null })).secret, { project: id })
  assert.equal((await whole.identity.me()).project?.name, "web")

  await person.projects.update({ id, name: "web-next" })

  assert.equal((await whole.identity.me()).project?.name, "web-next")
})

test("deleting a project takes a fresh proof of the password, ends its keys at once, and nobody enters it again", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id } = await person.projects.create({ name: "web" })
  const bound = p.as((await p.key("acme", ["kv:read"], { project_id: id })).secret)
  const whole = p.as((await p.key("acme", ["kv:read"], { project_id: null })).secret, { project: id })
  await bound.identity.me()
  await whole.identity.me()
  await p.clock.advance(15 * 60_000 + 1)
  await refused(person.projects.delete({ id }), "step_up_required")
  await person.account.reauthenticate({ password: "correct horse battery" })

  await person.projects.delete({ id })

  await refused(bound.identity.me(), "api_key_revoked")
  await refused(whole.identity.me(), "project_not_in_organization")
  await refused(person.projects.get({ id }), "project_not_found")
})

test("members and viewers change no project", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  for (const role of ["member", "viewer"] as const) {
    const person = await p.person("acme", role)
    await refused(person.projects.create({ name: "mine" }), "role_insufficient")
    await refused(person.projects.update({ id: projectId, name: "mine" }), "role_insufficient")
    await refused(person.projects.delete({ id: projectId }), "role_insufficient")
    assert.equal((await person.projects.list()).total, 1)
  }
})

test("of a hundred who create one name at once, one succeeds and the others are told", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const attempts = Array.from({ length: 100 }, () =>
    person.projects.create({ name: "one" }).then(
      () => "created",
      (error: { code: string }) => error.code,
    ),
  )
  const outcomes = await Promise.all(attempts)

  assert.equal(outcomes.filter(outcome => outcome === "created").length, 1)
  assert.equal(outcomes.filter(outcome => outcome === "name_taken").length, 99)
  assert.equal((await person.projects.list()).data.filter(({ name }) => name === "one").length, 1)
})
