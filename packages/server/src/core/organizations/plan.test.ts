import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { everyScope, platform } from "../../testing/platform.ts"
import { watchedFetch } from "../../testing/watch.ts"
import { refused, signIn, signUp } from "../accounts/testing/people.ts"

test("who runs the installation gives an organization another plan, and its limits hold at once in every process", async t => {
  const p = await platform(t)
  const second = await platform(t, { databaseUrl: p.config.databaseUrl ?? "" })
  const { organizationId: org_id } = await p.tenant("acme", "free")
  const { secret } = await p.key("acme", ["kv:read"])
  const planAt = async (at: typeof p) => {
    const svc = createSvc({ apiKey: secret, baseUrl: at.url, fetch: watchedFetch, retries: 0 })
    return (await svc.identity.me()).organization.plan
  }
  assert.deepEqual([await planAt(p), await planAt(second)], ["free", "free"])
  const operator = p.firstRun
  assert.ok(operator)
  const { svc: owner } = await signIn(p, operator.email, operator.password)

  const changed = await owner.organizations.setPlan({ org_id, plan: "pro" })

  assert.deepEqual([changed.id, changed.plan, await planAt(p)], [org_id, "pro", "pro"])
  for (const deadline = performance.now() + 60_000; (await planAt(second)) !== "pro"; )
    assert.ok(performance.now() < deadline)
  const { action, metadata } = await p.database.db
    .selectFrom("core.audit_events")
    .selectAll()
    .where("tenant_id", "=", org_id)
    .orderBy("sequence", "desc")
    .executeTakeFirstOrThrow()
  assert.deepEqual([action, metadata], ["organizations.setPlan", { plan_before: "free", plan: "pro" }])

  const NOBODY = "00000000-0000-7000-8000-000000000000"
  await refused(owner.organizations.setPlan({ org_id: NOBODY, plan: "pro" }), "organization_not_found")
  const atOperator = { organization_id: operator.organization_id }
  const machine = p.as((await p.key("acme", ["admin:full"], { ...atOperator, project_id: null })).secret)
  assert.equal((await machine.organizations.setPlan({ org_id, plan: "team" })).plan, "team")
  const bound = { ...atOperator, project_id: operator.project_id }
  const limited = p.as((await p.key("acme", ["admin:full"], bound)).secret)
  await refused(limited.organizations.setPlan({ org_id, plan: "free" }), "organization_reach_required")
})

test("nobody gives their own organization a plan", async t => {
  const p = await platform(t)
  const { svc, organizationId: org_id } = await signUp(p)
  await refused(svc.organizations.setPlan({ org_id, plan: "enterprise" }), "role_insufficient")
  const wide = await p.wide("acme", ...everyScope)
  const { organizationId } = await p.tenant("acme")
  const own = { org_id: organizationId, plan: "pro" } as const
  await refused(wide.organizations.setPlan(own), "role_insufficient")
  const member = await p.person("acme", "member")
  await refused(member.organizations.setPlan(own), "missing_scope")
})
