import assert from "node:assert/strict"
import { test } from "node:test"
import { cloneDatabase } from "../../testing/database.ts"
import { platform } from "../../testing/platform.ts"
import { newEmail, type Person, refused, signIn, signUp } from "../accounts/testing/people.ts"
import { holdsWithin } from "../keys/testing/use.ts"
import { found, join } from "./testing/members.ts"

const NOBODY = "00000000-0000-7000-8000-000000000000"
const DAY_MS = 24 * 3600 * 1000

const codesOf = (results: readonly PromiseSettledResult<unknown>[]) => {
  const codes: Record<string, number> = {}
  for (const result of results) {
    const code = result.status === "fulfilled" ? "in" : result.reason.code
    codes[code] = (codes[code] ?? 0) + 1
  }
  return codes
}

const times = <Result>(count: number, act: (index: number) => Promise<Result>) =>
  Promise.allSettled(Array.from({ length: count }, (_, index) => act(index)))

test("a stranger cannot tell an organization from one that never existed", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  const { svc } = await signUp(p)
  assert.equal((await owner.svc.organizations.get({ org_id })).id, org_id)
  const attempts = (id: string) => [
    () => svc.organizations.get({ org_id: id }),
    () => svc.organizations.update({ org_id: id, name: "Mine" }),
    () => svc.organizations.delete({ org_id: id }),
    () => svc.organizations.listMembers({ org_id: id }),
    () => svc.organizations.updateMember({ org_id: id, user_id: owner.id, role: "viewer" }),
    () => svc.organizations.removeMember({ org_id: id, user_id: owner.id }),
    () => svc.organizations.listInvitations({ org_id: id }),
    () => svc.organizations.invite({ org_id: id, email: newEmail(), role: "member" }),
    () => svc.organizations.revokeInvitation({ org_id: id, id: NOBODY }),
  ]

  for (const id of [org_id, NOBODY]) {
    for (const attempt of attempts(id)) {
      const error = await refused(attempt(), "organization_not_found")
      assert.equal(error.message, "organization not found")
    }
  }
})

test("an administrator sees to members and viewers, and not to owners or administrators", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  const admin = await join(p, owner, org_id, "admin")
  const second = await join(p, owner, org_id, "admin")
  const member = await join(p, owner, org_id, "member")
  const { organizations } = admin.svc

  await refused(organizations.invite({ org_id, email: newEmail(), role: "admin" }), "role_insufficient")
  await refused(
    organizations.updateMember({ org_id, user_id: member.id, role: "owner" }),
    "role_insufficient",
  )
  await refused(organizations.updateMember({ org_id, user_id: admin.id, role: "owner" }), "role_insufficient")
  await refused(
    organizations.updateMember({ org_id, user_id: second.id, role: "viewer" }),
    "role_insufficient",
  )
  await refused(organizations.removeMember({ org_id, user_id: owner.id }), "role_insufficient")
  await refused(organizations.delete({ org_id }), "role_insufficient")
  const changed = await organizations.updateMember({ org_id, user_id: member.id, role: "viewer" })
  assert.equal(changed.role, "viewer")
  await organizations.removeMember({ org_id, user_id: member.id })
  await refused(organizations.removeMember({ org_id, user_id: member.id }), "member_not_found")
})

test("members and viewers manage nobody, and leave when they like", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  for (const role of ["member", "viewer"] as const) {
    const { id, svc } = await join(p, owner, org_id, role)
    await refused(svc.organizations.update({ org_id, name: "Ours" }), "role_insufficient")
    await refused(
      svc.organizations.invite({ org_id, email: newEmail(), role: "viewer" }),
      "role_insufficient",
    )
    await refused(svc.organizations.listInvitations({ org_id }), "role_insufficient")
    await refused(svc.organizations.updateMember({ org_id, user_id: id, role: "admin" }), "role_insufficient")
    await refused(svc.organizations.removeMember({ org_id, user_id: owner.id }), "role_insufficient")
    await refused(svc.projects.create({ name: "mine" }), "role_insufficient")

    await svc.organizations.removeMember({ org_id, user_id: id })
    await refused(svc.projects.list(), "tenant_mismatch")
  }
})

test("an organization never loses its last owner, not even when all leave at the same moment", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  await refused(owner.svc.organizations.removeMember({ org_id, user_id: owner.id }), "last_owner")
  const demotion = { org_id, user_id: owner.id, role: "admin" } as const
  await refused(owner.svc.organizations.updateMember(demotion), "last_owner")

  const owners = [owner, await join(p, owner, org_id, "owner"), await join(p, owner, org_id, "owner")]
  const leaving = await times(3, index => {
    const { svc, id } = owners[index] as Person
    return svc.organizations.removeMember({ org_id, user_id: id })
  })
  assert.deepEqual(codesOf(leaving), { in: 2, last_owner: 1 })
})

test("a hundred requests at once do not get more projects than the plan has", async t => {
  const p = await platform(t)
  const { owner } = await found(p, "starter")

  const creations = await times(100, index => owner.svc.projects.create({ name: `project ${index}` }))

  assert.deepEqual(codesOf(creations), { in: 4, plan_limit_reached: 96 })
  assert.equal((await owner.svc.projects.list()).total, 5)
})

test("a hundred invitations at once do not promise more seats than the plan has", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p, "pro")

  const invitations = await times(100, () =>
    owner.svc.organizations.invite({ org_id, email: newEmail(), role: "member" }),
  )

  assert.deepEqual(codesOf(invitations), { in: 4, plan_limit_reached: 96 })
})

test("an invitation that ended gives its seat back, and a second one to the same person takes no second seat", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p, "starter")
  const { organizations } = owner.svc
  const email = newEmail()
  await organizations.invite({ org_id, email, role: "member" })
  await refused(organizations.invite({ org_id, email: newEmail(), role: "member" }), "plan_limit_reached")

  const again = await organizations.invite({ org_id, email: email.toUpperCase(), role: "viewer" })
  await organizations.revokeInvitation({ org_id, id: again.id })
  await organizations.invite({ org_id, email: newEmail(), role: "member" })
  const statuses = (await organizations.listInvitations({ org_id })).data.map(({ status }) => status)
  assert.deepEqual(statuses.sort(), ["pending", "revoked", "revoked"])
})

test("an invitation is for the person it names, whatever the case, and works once", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  const grace = await signUp(p)
  const other = await signUp(p)
  const input = { org_id, email: grace.email.toUpperCase(), role: "member" } as const
  const { token: replaced = "" } = await owner.svc.organizations.invite(input)
  const { token = "" } = await owner.svc.organizations.invite(input)

  await refused(other.svc.organizations.acceptInvitation({ token }), "invitation_not_found")
  await refused(grace.svc.organizations.acceptInvitation({ token: replaced }), "invitation_not_found")
  const acceptances = await times(10, () => grace.svc.organizations.acceptInvitation({ token }))

  assert.deepEqual(codesOf(acceptances), { in: 1, invitation_not_found: 9 })
  await refused(owner.svc.organizations.invite({ ...input, role: "viewer" }), "member_exists")
})

test("an invitation lasts seven days", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  const invited = async () => {
    const { email } = await signUp(p)
    const { token = "" } = await owner.svc.organizations.invite({ org_id, email, role: "member" })
    return { email, token }
  }
  const [early, late] = [await invited(), await invited()]
  const accept = async ({ email, token }: { email: string; token: string }) =>
    (await signIn(p, email)).svc.organizations.acceptInvitation({ token })

  await p.clock.advance(7 * DAY_MS - 1)
  assert.equal((await accept(early)).id, org_id)
  await p.clock.advance(1)
  await refused(accept(late), "invitation_not_found")
  const { svc } = await signIn(p, owner.email)
  const { data } = await svc.organizations.listInvitations({ org_id })
  assert.deepEqual(data.map(({ status }) => status).sort(), ["accepted", "expired"])
})

test("an accepted invitation gives what it promised: the role and the projects", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  const shown = await owner.svc.projects.create({ name: "shown" })
  const person = await signUp(p)
  const foreign = await signUp(p)
  const { id: foreignProject = "" } = (await foreign.svc.projects.list()).data[0] ?? {}
  const input = { org_id, email: person.email, role: "member" } as const
  const outside = { ...input, project_ids: [shown.id, foreignProject] }
  await refused(owner.svc.organizations.invite(outside), "project_not_in_organization")
  const leading = { ...input, role: "admin" as const, project_ids: [shown.id] }
  await refused(owner.svc.organizations.invite(leading), "invalid_parameter")

  const { token = "" } = await owner.svc.organizations.invite({ ...input, project_ids: [shown.id] })
  assert.equal((await person.svc.organizations.acceptInvitation({ token })).role, "member")

  const inside = person.with({ "x-svc-organization": org_id })
  assert.deepEqual(
    (await inside.projects.list()).data.map(({ name }) => name),
    ["shown"],
  )
  const hidden = (await owner.svc.projects.list()).data.find(({ name }) => name === "default")?.id ?? ""
  await refused(inside.projects.get({ id: hidden }), "project_not_found")
  const members = await owner.svc.organizations.listMembers({ org_id })
  assert.deepEqual(members.data.find(({ user_id }) => user_id === person.id)?.project_ids, [shown.id])
})

test("deleting an organization takes a fresh proof of the password, and ends its keys at once in every process", async t => {
  const database = await cloneDatabase()
  const p = await platform(t, { databaseUrl: database.url })
  const second = await platform(t, { databaseUrl: database.url })
  t.after(() => database[Symbol.asyncDispose]())
  const { owner, org_id } = await found(p)
  const { secret = "" } = await owner.svc.keys.create({ name: "all", type: "secret", scopes: ["kv:read"] })
  await p.as(secret).identity.me()
  await second.as(secret).identity.me()
  await p.clock.advance(15 * 60_000 + 1)
  await refused(owner.svc.organizations.delete({ org_id }), "step_up_required")
  await owner.svc.account.reauthenticate({ password: "correct horse battery" })

  await owner.svc.organizations.delete({ org_id })

  await refused(p.as(secret).identity.me(), "invalid_api_key")
  // The news travel by notification: another process hears them a moment after the commit.
  await holdsWithin(60_000, async () => {
    const answer = await second.request("/v1/me", { headers: { authorization: `Bearer ${secret}` } })
    return answer.status === 401
  })
  await refused(owner.svc.organizations.get({ org_id }), "organization_not_found")
  assert.equal((await owner.svc.organizations.list()).total, 0)
  assert.equal((await owner.svc.projects.list()).total, 0)
})

test("a person may own ten free organizations, and no more by asking at once", async t => {
  const p = await platform(t)
  const { svc } = await signUp(p)

  const creations = await times(20, index => svc.organizations.create({ name: `Organization ${index}` }))

  assert.deepEqual(codesOf(creations), { in: 9, plan_limit_reached: 11 })
})

test("organizations of one name have addresses of their own", async t => {
  const p = await platform(t)
  const { svc } = await signUp(p)
  const first = await svc.organizations.create({ name: "Müller & Söhne" })
  const second = await svc.organizations.create({ name: "Müller & Söhne" })

  assert.equal(first.slug, "muller-sohne")
  assert.match(second.slug, /^muller-sohne-[a-z0-9]{6}$/)
})

test("what is done to an organization is in its own audit chain, whichever one the session acts in", async t => {
  const p = await platform(t)
  const { owner } = await found(p)
  const { id: org_id } = await owner.svc.organizations.create({ name: "Second" })
  await owner.svc.organizations.update({ org_id, name: "Renamed" })
  await p.database.db
    .updateTable("core.organizations")
    .set({ plan: "team" })
    .where("id", "=", org_id)
    .execute()
  const { id } = await join(p, owner, org_id, "viewer")
  await owner.svc.organizations.removeMember({ org_id, user_id: id })

  const entries = await p.database.db
    .selectFrom("core.audit_events")
    .select("action")
    .where("tenant_id", "=", org_id)
    .orderBy("sequence")
    .execute()
  assert.deepEqual(
    entries.map(({ action }) => action.replace("organizations.", "")),
    ["create", "update", "invite", "acceptInvitation", "removeMember"],
  )
})
