import assert from "node:assert/strict"
import { test } from "node:test"
import { platform, uniqueName } from "../../testing/platform.ts"
import { refused } from "../accounts/testing/people.ts"
import { found, join } from "../organizations/testing/members.ts"
import { use } from "./testing/use.ts"

const DAY_MS = 24 * 3_600_000
const OFFICE = "203.0.113.0/24"
const HERE = "127.0.0.0/8"

const secretKey = (more: object = {}) => ({
  name: uniqueName(),
  type: "secret" as const,
  scopes: ["kv:read"],
  ...more,
})

test("an owner's policy holds for every key made from then on, and says which rule refuses one", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  const { keys, organizations } = owner.svc
  const free = await organizations.get({ org_id })
  assert.deepEqual(free.key_policy, {
    max_lifetime_days: null,
    allowed_addresses: [],
    read_only: false,
    require_approval: false,
  })
  const policy = { max_lifetime_days: 30, allowed_addresses: [OFFICE, HERE, "2001:db8::/32"] }
  const set = await organizations.setKeyPolicy({ org_id, ...policy, read_only: true, require_approval: true })
  assert.deepEqual(set.key_policy, { ...policy, read_only: true, require_approval: true })
  assert.deepEqual((await organizations.get({ org_id })).key_policy, set.key_policy)

  const made = await keys.create(secretKey())
  assert.equal(Date.parse(made.expires_at ?? "") - p.clock.now(), 30 * DAY_MS)
  assert.deepEqual(
    [made.ip_allowlist, made.read_only, made.require_approval, made.policy_violations],
    [policy.allowed_addresses, true, true, []],
  )
  assert.equal(await use(p, made.secret ?? ""), "ok")
  const asked = { ip_allowlist: ["203.0.113.7", "2001:db8:1::/48"], expires_in_days: 1 }
  const writer = await keys.create(secretKey({ ...asked, read_only: false, require_approval: false }))
  assert.deepEqual([writer.read_only, writer.require_approval], [false, false])

  const tooMuch = [
    { expires_in_days: 31 },
    { never_expires: true },
    { ip_allowlist: [] },
    { ip_allowlist: ["203.0.112.0/23"] },
    { ip_allowlist: ["203.0.113.7", "198.51.100.1"] },
    { ip_allowlist: ["::ffff:203.0.113.7"] },
    { ip_allowlist: ["0.0.0.0/0"] },
  ]
  for (const more of tooMuch) {
    const { message } = await refused(keys.create(secretKey(more)), "key_policy_violated")
    assert.match(message, "ip_allowlist" in more ? /allowed_addresses/ : /max_lifetime_days is 30/)
  }
  const widened = { id: writer.id, ip_allowlist: ["0.0.0.0/0"] }
  await refused(keys.update(widened), "key_policy_violated")
  await refused(keys.update({ ...widened, ip_allowlist: [] }), "key_policy_violated")
  assert.equal((await keys.update({ ...widened, ip_allowlist: [HERE] })).policy_violations.length, 0)

  // A publishable key is no secret, and is used from everywhere.
  const { projects } = owner.svc
  const project_id = (await projects.list()).data[0]?.id ?? ""
  const publishable = await keys.create({ name: uniqueName(), type: "publishable", project_id })
  assert.deepEqual(
    [publishable.expires_at, publishable.ip_allowlist, publishable.read_only, publishable.policy_violations],
    [null, [], false, []],
  )
})

test("keys older than the policy work and say that they do not meet it, until they are restricted and rotated", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  const { keys, organizations } = owner.svc
  const old = await keys.create(secretKey({ never_expires: true }))
  await organizations.setKeyPolicy({ org_id, max_lifetime_days: 30, allowed_addresses: [HERE] })

  assert.equal(await use(p, old.secret ?? ""), "ok")
  const both = ["max_lifetime_days", "allowed_addresses"]
  assert.deepEqual((await keys.get({ id: old.id })).policy_violations, both)
  const listed = (await keys.list()).data.find(({ id }) => id === old.id)
  assert.deepEqual(listed?.policy_violations, both)

  await refused(keys.rotate({ id: old.id }), "key_policy_violated")
  const restricted = await keys.update({ id: old.id, ip_allowlist: [HERE] })
  assert.deepEqual(restricted.policy_violations, ["max_lifetime_days"])
  const late = new Date(p.clock.now() + 31 * DAY_MS).toISOString()
  await refused(keys.rotate({ id: old.id, expires_at: late }), "key_policy_violated")
  const renewed = await keys.rotate({ id: old.id })
  assert.equal(Date.parse(renewed.expires_at ?? "") - p.clock.now(), 30 * DAY_MS)
  assert.deepEqual(renewed.policy_violations, [])

  await organizations.setKeyPolicy({ org_id })
  assert.deepEqual((await keys.get({ id: old.id })).policy_violations, [])
})

test("only an owner sets the policy, with a fresh sign-in, of their own organization; the audit trail has both", async t => {
  const p = await platform(t)
  const { owner, org_id } = await found(p)
  const admin = await join(p, owner, org_id, "admin")
  const other = await found(p)
  const policy = { org_id, max_lifetime_days: 7 }
  await refused(admin.svc.organizations.setKeyPolicy(policy), "role_insufficient")
  await refused(other.owner.svc.organizations.setKeyPolicy(policy), "organization_not_found")
  await refused(
    owner.svc.organizations.setKeyPolicy({ org_id, allowed_addresses: ["10.0.0.0/64"] }),
    "invalid_cidr",
  )
  await owner.svc.organizations.setKeyPolicy(policy)
  const { action, metadata } = await p.database.db
    .selectFrom("core.audit_events")
    .selectAll()
    .where("tenant_id", "=", org_id)
    .orderBy("sequence", "desc")
    .executeTakeFirstOrThrow()
  const nothing = { allowed_addresses: [], read_only: false, require_approval: false }
  assert.deepEqual(
    [action, metadata],
    [
      "organizations.setKeyPolicy",
      { before: { ...nothing, max_lifetime_days: null }, after: { ...nothing, max_lifetime_days: 7 } },
    ],
  )
  await p.clock.advance(16 * 60_000)
  await refused(owner.svc.organizations.setKeyPolicy(policy), "step_up_required")
})
