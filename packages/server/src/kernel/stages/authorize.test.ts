import assert from "node:assert/strict"
import { test } from "node:test"
import { platform, type TestPlatform } from "../../testing/platform.ts"

const NOWHERE = "00000000-0000-7000-8000-000000000000"

/** Asks in which project a call is: its id, or the refusal without what differs from request to request. */
const projectOf = async (p: TestPlatform, headers: Record<string, string>) => {
  const response = await p.request("/v1/probe/project", { headers })
  const { data, request_id: _, ...refusal } = (await response.json()) as Record<string, unknown>
  return response.status === 200 ? (data as { owner: string }).owner : { status: response.status, ...refusal }
}

const codeOf = (outcome: Awaited<ReturnType<typeof projectOf>>) =>
  typeof outcome === "string" ? outcome : (outcome as { code?: string }).code

const worldOf = async (p: TestPlatform) => {
  const { projectId } = await p.tenant("acme")
  const other = await (await p.person("acme")).projects.create({ name: "other" })
  const foreign = await p.tenant("globex")
  return { projectId, otherId: other.id, foreignId: foreign.projectId }
}

test("a key of the whole organization names its project by either header, in any case", async t => {
  const p = await platform(t)
  const { projectId, otherId } = await worldOf(p)
  const { secret } = await p.key("acme", ["kv:read"], { project_id: null })
  const authorization = `Bearer ${secret}`

  assert.equal(await projectOf(p, { authorization, "x-svc-project": projectId }), projectId)
  assert.equal(await projectOf(p, { authorization, "x-project-id": otherId }), otherId)
  assert.equal(await projectOf(p, { authorization, "x-svc-project": otherId.toUpperCase() }), otherId)
  assert.equal(
    await projectOf(p, { authorization, "x-svc-project": otherId, "x-project-id": otherId }),
    otherId,
  )
  const both = { authorization, "x-svc-project": projectId, "x-project-id": otherId }
  assert.equal(codeOf(await projectOf(p, both)), "invalid_request")
  assert.equal(codeOf(await projectOf(p, { authorization })), "project_required")
})

test("a project of another tenant, a deleted one, one that never was and no id at all get the same answer", async t => {
  const p = await platform(t)
  const { projectId, otherId, foreignId } = await worldOf(p)
  await (await p.person("acme")).projects.delete({ id: otherId })

  for (const bound of [null, projectId]) {
    const { secret } = await p.key("acme", ["kv:read"], { project_id: bound })
    const refusals = await Promise.all(
      [foreignId, otherId, NOWHERE, "no-id", "'; DROP TABLE core.projects; --"].map(named =>
        projectOf(p, { authorization: `Bearer ${secret}`, "x-svc-project": named }),
      ),
    )
    for (const refusal of refusals) assert.deepEqual(refusal, refusals[0])
    assert.equal(codeOf(refusals[0] ?? ""), "project_not_in_organization")
  }
})

test("a key of a project is in that project without naming it, and in no other by naming it", async t => {
  const p = await platform(t)
  const { projectId, otherId } = await worldOf(p)
  const { secret } = await p.key("acme", ["kv:read"])
  const authorization = `Bearer ${secret}`

  assert.equal(await projectOf(p, { authorization }), projectId)
  assert.equal(await projectOf(p, { authorization, "x-svc-project": projectId }), projectId)
  assert.equal(
    codeOf(await projectOf(p, { authorization, "x-svc-project": otherId })),
    "project_not_in_organization",
  )
})

test("a restricted member enters their projects and no other", async t => {
  const p = await platform(t)
  const { projectId, otherId } = await worldOf(p)
  const session = await p.session("acme", "member")
  await p.database.db
    .updateTable("core.members")
    .set({ project_ids: [projectId] })
    .where("role", "=", "member")
    .execute()

  assert.equal(await projectOf(p, { ...session, "x-svc-project": projectId }), projectId)
  assert.equal(
    codeOf(await projectOf(p, { ...session, "x-svc-project": otherId })),
    "project_not_in_organization",
  )
  assert.equal(codeOf(await projectOf(p, session)), "project_required")
})
