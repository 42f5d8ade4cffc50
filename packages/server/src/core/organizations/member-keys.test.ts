import assert from "node:assert/strict"
import { test } from "node:test"
import type { KeyType, Scope } from "@svc/contract"
import { cloneDatabase } from "../../testing/database.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { newEmail, type Person, refused, signIn, signUp } from "../accounts/testing/people.ts"
import { holdsWithin, use } from "../keys/testing/use.ts"
import { found, join } from "./testing/members.ts"

const SOON_MS = 60_000

const newKey = async (
  { svc }: Pick<Person, "svc">,
  project_id: string | null,
  type: KeyType = "secret",
  ...scopes: Scope[]
) => {
  const fixed = type === "full_access" || type === "publishable"
  const { id, secret = "" } = await svc.keys.create({
    name: `${type} ${scopes.join(" ")}`,
    type,
    project_id,
    ...(fixed ? {} : { scopes: scopes.length > 0 ? scopes : (["kv:read"] satisfies Scope[]) }),
  })
  return { id, secret }
}

/** An organization with a second person, and the id of its first project. */
const world = async (p: TestPlatform, role: "admin" | "member" = "member") => {
  const { owner, org_id } = await found(p)
  const person = await join(p, owner, org_id, role)
  const project = (await owner.svc.projects.list()).data[0]?.id ?? ""
  return { owner, org_id, person, project, place: { org_id, user_id: person.id } }
}

const lastAudit = async (p: TestPlatform, org_id: string) => {
  const { action, metadata, targets } = await p.database.db
    .selectFrom("core.audit_events")
    .selectAll()
    .where("tenant_id", "=", org_id)
    .orderBy("sequence", "desc")
    .executeTakeFirstOrThrow()
  return { action, metadata: metadata as Record<string, unknown>, targets: targets as { id: string }[] }
}

test("a removal revokes every key that the member made, in every process, and says which", async t => {
  const database = await cloneDatabase()
  const p = await platform(t, { databaseUrl: database.url })
  const second = await platform(t, { databaseUrl: database.url })
  t.after(() => database[Symbol.asyncDispose]())
  const { owner, org_id, person, project, place } = await world(p)
  const keys = [
    await newKey(person, project),
    await newKey(person, project, "service_account"),
    await newKey(person, project, "personal"),
    await newKey({ svc: person.svc }, project, "secret", "kv:read", "kv:write"),
  ]
  const publishable = await newKey(person, project, "publishable")
  const rotated = await person.svc.keys.rotate({ id: keys[0]?.id ?? "", grace_period_seconds: 3600 })
  const old = [...keys.map(({ id }) => id), rotated.id].sort()
  const ours = await newKey(owner, project)
  for (const { secret } of [...keys, ours]) {
    assert.equal(await use(p, secret), "ok")
    assert.equal(await use(second, secret), "ok")
  }

  const before = await owner.svc.organizations.memberKeys(place)
  assert.deepEqual(before.data.map(({ id }) => id).sort(), old)
  assert.deepEqual(
    before.data.filter(({ can_be_handed_over }) => !can_be_handed_over).map(({ type }) => type),
    ["personal"],
  )
  const removed = await owner.svc.organizations.removeMember(place)

  assert.deepEqual(removed.keys.map(({ id }) => id).sort(), old)
  assert.ok(removed.keys.every(({ outcome, handed_to }) => outcome === "revoked" && handed_to === null))
  for (const { secret } of keys) {
    assert.equal(await use(p, secret), "api_key_revoked")
    await holdsWithin(SOON_MS, async () => (await use(second, secret)) === "api_key_revoked")
  }
  assert.equal(await use(p, ours.secret), "ok")
  assert.equal((await owner.svc.keys.get({ id: publishable.id })).status, "active")
  const entry = await lastAudit(p, org_id)
  assert.equal(entry.action, "organizations.removeMember")
  const told = entry.metadata.keys as { id: string; outcome: string }[]
  assert.deepEqual(
    told.map(({ id, outcome }) => `${id} ${outcome}`).sort(),
    old.map(id => `${id} revoked`),
  )
})

test("a removal hands keys over where that is chosen, in the same step; a person's own are revoked all the same", async t => {
  const p = await platform(t)
  const { owner, org_id, person, project, place } = await world(p)
  const kept = await newKey(person, project)
  const own = await newKey(person, project, "personal")
  const viewer = await join(p, owner, org_id, "viewer")
  const writer = await newKey(person, project, "secret", "kv:read", "kv:write")
  const stranger = await signUp(p)
  const { removeMember } = owner.svc.organizations

  await refused(removeMember({ ...place, keys: "hand_over" }), "missing_parameter")
  await refused(removeMember({ ...place, keys_to: owner.id }), "invalid_parameter")
  await refused(removeMember({ ...place, keys: "hand_over", keys_to: person.id }), "invalid_parameter")
  await refused(removeMember({ ...place, keys: "hand_over", keys_to: stranger.id }), "member_not_found")
  // A viewer could not have made a key that writes.
  await refused(removeMember({ ...place, keys: "hand_over", keys_to: viewer.id }), "invalid_parameter")
  for (const { secret } of [kept, own, writer]) assert.equal(await use(p, secret), "ok")

  const { keys } = await removeMember({ ...place, keys: "hand_over", keys_to: owner.id.toUpperCase() })

  const outcomes = Object.fromEntries(keys.map(({ id, outcome, handed_to }) => [id, [outcome, handed_to]]))
  assert.deepEqual(outcomes, {
    [kept.id]: ["handed_over", owner.id],
    [writer.id]: ["handed_over", owner.id],
    [own.id]: ["revoked", null],
  })
  assert.equal(await use(p, kept.secret), "ok")
  assert.equal(await use(p, own.secret), "api_key_revoked")
  assert.deepEqual((await owner.svc.keys.get({ id: kept.id })).created_by, {
    id: owner.id,
    email: owner.email,
  })
  const { metadata } = await lastAudit(p, org_id)
  assert.deepEqual(
    (metadata.keys as { handed_to: string | null }[]).filter(({ handed_to }) => handed_to === owner.id)
      .length,
    2,
  )
})

test("a lower role or other projects end the keys that go beyond them, and no others", async t => {
  const p = await platform(t)
  const { owner, person, project, place } = await world(p, "admin")
  const other = await owner.svc.projects.create({ name: "other" })
  const wide = await newKey(person, null)
  const writer = await newKey(person, project, "secret", "kv:read", "kv:write")
  const reader = await newKey(person, project)
  const there = await newKey(person, other.id)
  const own = await newKey(person, project, "personal")
  const { updateMember, memberKeys } = owner.svc.organizations
  const idsOf = (keys: readonly { id: string }[]) => keys.map(({ id }) => id).sort()
  const change = async (next: Partial<Parameters<typeof updateMember>[0]>) => {
    const { project_ids, role } = next
    const foretold = await memberKeys({
      ...place,
      ...(role && { role }),
      ...(project_ids && { project_ids: project_ids.join(",") }),
    })
    const { keys } = await updateMember({ ...place, ...next })
    assert.deepEqual(idsOf(foretold.data), idsOf(keys))
    return idsOf(keys)
  }

  await refused(updateMember({ ...place, role: "member", keys: "hand_over" }), "missing_parameter")
  await refused(memberKeys({ ...place, role: "admin", project_ids: project }), "invalid_parameter")
  assert.deepEqual(await change({ role: "member" }), [wide.id])
  assert.equal(await use(p, wide.secret), "api_key_revoked")
  assert.deepEqual(await change({ project_ids: [project], keys: "hand_over", keys_to: owner.id }), [there.id])
  assert.equal(await use(p, there.secret), "ok")
  assert.deepEqual(await change({ role: "viewer" }), [writer.id])
  for (const { secret } of [reader, own]) assert.equal(await use(p, secret), "ok")
  assert.deepEqual(await change({ role: "member", project_ids: [other.id] }), [own.id, reader.id].sort())
  for (const { secret } of [reader, own]) assert.equal(await use(p, secret), "api_key_revoked")
})

test("who leaves hands no keys over and sees beforehand what ends; others' keys are for those who lead", async t => {
  const p = await platform(t)
  const { owner, org_id, person, project, place } = await world(p)
  const key = await newKey(person, project)
  const { organizations } = person.svc
  await refused(organizations.memberKeys({ org_id, user_id: owner.id }), "role_insufficient")
  assert.equal((await organizations.memberKeys(place)).total, 1)
  const handing = { ...place, keys: "hand_over", keys_to: owner.id } as const
  await refused(organizations.removeMember(handing), "role_insufficient")
  assert.deepEqual(
    (await organizations.removeMember(place)).keys.map(({ outcome }) => outcome),
    ["revoked"],
  )
  assert.equal(await use(p, key.secret), "api_key_revoked")
})

test("keys that are being made or rotated while their maker is removed do not outlive the removal", async t => {
  const p = await platform(t)
  for (let round = 0; round < 5; round++) {
    const { owner, person, project, place } = await world(p)
    const old = await newKey(person, project)
    const underWay = [
      ...Array.from({ length: 10 }, () => newKey(person, project)),
      person.svc.keys.rotate({ id: old.id }),
    ]
    const settled = Promise.allSettled(underWay)
    await owner.svc.organizations.removeMember(place)
    const made = (await settled).flatMap(result => (result.status === "fulfilled" ? [result.value] : []))
    for (const { secret = "" } of [...made, old]) assert.equal(await use(p, secret), "api_key_revoked")
  }
})

test("invitations end with their maker's right to make them", async t => {
  const p = await platform(t)
  const { owner, org_id, person: admin, place } = await world(p, "admin")
  const second = await join(p, owner, org_id, "owner")
  const backDoor = await signUp(p)
  const plain = await signUp(p)
  const invite = async (by: Person, email: string, role: "admin" | "member") =>
    (await by.svc.organizations.invite({ org_id, email, role })).token ?? ""
  const leading = await invite(second, newEmail(), "admin")
  const ordinary = await invite(second, plain.email, "member")
  const token = await invite(admin, backDoor.email, "member")

  const lowered = await owner.svc.organizations.updateMember({ org_id, user_id: second.id, role: "admin" })
  assert.deepEqual(
    lowered.withdrawn_invitations.map(({ email }) => email),
    [
      (await owner.svc.organizations.listInvitations({ org_id })).data.find(({ role }) => role === "admin")
        ?.email,
    ],
  )
  assert.notEqual(leading, "")
  const removed = await owner.svc.organizations.removeMember(place)
  assert.deepEqual(
    removed.withdrawn_invitations.map(({ email }) => email),
    [backDoor.email],
  )
  await refused(backDoor.svc.organizations.acceptInvitation({ token }), "invitation_not_found")
  assert.equal((await plain.svc.organizations.acceptInvitation({ token: ordinary })).id, org_id)
})

test("a stream of events ends when its reader is moved or gets another role", async t => {
  const p = await platform(t)
  const { owner, org_id, person, place } = await world(p)
  await signIn(p, person.email)
  const cookie = person.setCookie.split(";")[0] ?? ""
  const headers = { cookie, origin: p.url, "x-svc-organization": org_id }
  const response = await p.request("/v1/notifications/stream", { headers })
  const reader = response.body?.getReader()
  const isOver = async () => (await reader?.read())?.done === true
  await owner.svc.organizations.updateMember({ ...place, role: "viewer" })
  await p.clock.advance(15_000)
  await holdsWithin(SOON_MS, isOver)
})

test("a restricted member finds keys of the member's projects alone, to change as well as to read", async t => {
  const p = await platform(t)
  const { owner, person, project, place } = await world(p)
  const other = await owner.svc.projects.create({ name: "other" })
  const hidden = await newKey(owner, project)
  await owner.svc.organizations.updateMember({ ...place, project_ids: [other.id] })
  for (const act of ["get", "update", "rotate", "revoke", "delete"] as const)
    await refused(person.svc.keys[act]({ id: hidden.id }), "key_not_found")
  const listed = (await person.svc.keys.list()).data.map(({ project_id }) => project_id)
  assert.deepEqual(listed, [other.id])
})
