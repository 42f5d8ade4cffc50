/** What belongs to a project, to the organization, to the caller and to the installation: asked of every operation. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { allOperations, isOurs, mutates, type Operation, takesOrganization } from "@svc/contract"
import { createSvc, type OperationName, type Svc } from "@svc/sdk"
import { lanesOf } from "./lanes.ts"
import { everyScope, platform, type TestPlatform } from "./platform.ts"
import { createSampleWorld } from "./sample-world.ts"
import { samples } from "./samples.ts"
import { watchedFetch } from "./watch.ts"

let p: TestPlatform
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
})
after(() => opened.disposeAsync())

const byKey = allOperations.filter(
  ({ scope }) => scope !== "public" && scope !== "session" && scope !== "end-user",
)

/** Several at the same time; says which one it was that failed. */
const each = async (operations: readonly Operation[], check: (operation: Operation) => Promise<void>) => {
  const failed: string[] = []
  const inTurn = async (lane: readonly Operation[]) => {
    for (const operation of lane) {
      await check(operation).catch((error: Error) => failed.push(`${operation.name}: ${error.message}`))
    }
  }
  await Promise.all(lanesOf(operations, operation => operation).map(inTurn))
  assert.deepEqual(failed, [])
}

/** Sends the operation with a field that none has: who may call is decided before that is refused, and nothing runs. */
const knock = async ({ method, path }: Operation, headers: Record<string, string>, tenantId: string) => {
  const named = path
    .replace("{tenant_id}", tenantId)
    .replaceAll(/\{\w+\}/g, "00000000-0000-7000-8000-000000000000")
  const response = await p.request(`${named}?no_such_field=1`, {
    method,
    headers: { ...headers, ...(method === "GET" ? {} : { "content-type": "application/json" }) },
    ...(["GET", "HEAD", "DELETE"].includes(method) ? {} : { body: "{}" }),
  })
  await response.body?.cancel()
  return response.headers.get("x-error-code")
}

test("what belongs to a project is declared by operations that are in one", () => {
  const wrong = byKey.filter(
    ({ belongs, project, area }) => belongs === "project" && project === "none" && area !== "projects",
  )
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  )
})

test("what belongs to the organization or the installation is changed by nobody who is limited to a project", async () => {
  const { organizationId, projectId } = await p.tenant("acme")
  const { secret: bound } = await p.key("acme", everyScope)
  const { secret: wide } = await p.key("acme", everyScope, { project_id: null })
  const { secret: reaching } = await p.key("acme", everyScope, { organization_reach: true })
  const owner = await p.person("acme")
  const member = await p.session("acme", "member")
  const { data } = (await (await p.request("/v1/account", { headers: member })).json()) as {
    data: { id: string }
  }
  const limited = { org_id: organizationId, user_id: data.id, project_ids: [projectId] }
  await owner.organizations.updateMember(limited)
  const naming = { "x-svc-project": projectId }
  const refused = "organization_reach_required"
  assert.ok(byKey.some(takesOrganization))

  await each(byKey.filter(isOurs), async operation => {
    const codeOf = (headers: Record<string, string>) => knock(operation, headers, organizationId)
    const takes = takesOrganization(operation)
    assert.equal((await codeOf({ authorization: `Bearer ${bound}` })) === refused, takes)
    for (const secret of [wide, reaching])
      assert.notEqual(await codeOf({ authorization: `Bearer ${secret}` }), refused)
    const asMember = await codeOf({ ...member, ...naming })
    if (asMember !== "missing_scope") assert.equal(asMember === refused, takes)
  })
})

interface Side {
  readonly svc: Svc
  readonly tenantId: string
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g

/** What came of a call, without what differs from call to call. */
const outcomeOf = async ({ svc, tenantId }: Side, name: OperationName, input: Record<string, unknown>) => {
  const asked = "tenant_id" in input ? { ...input, tenant_id: tenantId } : input
  const options = { idempotencyKey: crypto.randomUUID() }
  const plain = (value: unknown) =>
    (JSON.stringify(value) ?? "").replaceAll(UUID, "<id>").replaceAll(TIME, "<time>")
  return await svc.request(name, asked as never, options).then(
    ({ status, data }) => ({ status, code: "", text: plain(data) }),
    (error: { status: number; code: string; message: string }) => {
      assert.ok(error.status >= 400 && error.status < 600, String(error))
      return { status: error.status, code: error.code, text: plain(error.message) }
    },
  )
}

const sampled = (operations: readonly Operation[]) =>
  operations.filter(operation => isOurs(operation) && operation.name in samples)

/** Answers that say what was made, or hold text that a machine made up: only whether they were let through is compared. */
const isMade = (operation: Operation) => mutates(operation)

test("a key of another project finds, uses, changes and deletes nothing of a project: to it all is as to another organization", async () => {
  const world = await createSampleWorld(p, "acme")
  const { organizationId } = await p.tenant("acme")
  const other = await world.person.projects.create({ name: "other" })
  const foreign = await p.tenant("globex")
  const sibling: Side = {
    svc: p.as((await p.key("acme", everyScope, { project_id: other.id })).secret),
    tenantId: organizationId,
  }
  const stranger: Side = {
    svc: p.as((await p.key("globex", everyScope)).secret),
    tenantId: foreign.organizationId,
  }
  const operations = sampled(
    byKey.filter(({ belongs, effect }) => belongs === "project" && effect !== "read-or-write"),
  )
  assert.ok(operations.length > 100)
  await each(operations, async operation => {
    const name = operation.name as OperationName
    const input = (await samples[name]?.(world)) as Record<string, unknown>
    const asSibling = await outcomeOf(sibling, name, input)
    const asStranger = await outcomeOf(stranger, name, input)
    if (isMade(operation)) {
      assert.deepEqual([asSibling.status, asSibling.code], [asStranger.status, asStranger.code])
    } else assert.deepEqual(asSibling, asStranger)
    if (operation.effect !== "destroy" || asSibling.status >= 300) return
    // It deleted what was its own, and what it named is still there.
    const again = await outcomeOf({ svc: world.key, tenantId: organizationId }, name, input)
    assert.ok(again.status < 300, again.code)
  })
})

test("what is a caller's own is not another key's of the same project", async () => {
  const world = await createSampleWorld(p, "acme")
  const { organizationId } = await p.tenant("acme")
  const { secret } = await p.key("acme", everyScope)
  const own = { svc: p.as(secret), tenantId: organizationId }
  const named = byKey.filter(({ belongs, params }) => belongs === "caller" && params)
  await each(sampled(named), async operation => {
    const name = operation.name as OperationName
    const { status } = await outcomeOf(own, name, (await samples[name]?.(world)) as Record<string, unknown>)
    assert.equal(status, 404)
  })
})

test("a text of one project is decrypted by no other, and by the whole organization's keys where they name the project", async () => {
  const { projectId } = await p.tenant("acme")
  const owner = await p.person("acme")
  const other = await owner.projects.create({ name: "elsewhere" })
  const ours = await p.client("acme", "encryption:use")
  const theirs = p.as((await p.key("acme", ["encryption:use"], { project_id: other.id })).secret)
  const { secret } = await p.key("acme", ["encryption:use"], { project_id: null })
  const wide = p.as(secret)
  const naming = p.as(secret, { headers: { "x-svc-project": projectId } })
  const ciphertextOf = async (svc: Svc) => {
    const made = await svc.encryption.encrypt({ plaintext: "secret" })
    assert.ok("ciphertext" in made)
    return made.ciphertext
  }
  const opens = async (svc: Svc, ciphertext: string) =>
    await svc.encryption.decrypt({ ciphertext }).then(
      () => true,
      ({ code }) => code !== "decryption_failed",
    )
  const text = await ciphertextOf(ours)
  assert.deepEqual(await Promise.all([ours, theirs, wide, naming].map(svc => opens(svc, text))), [
    true,
    false,
    false,
    true,
  ])
  const shared = await ciphertextOf(wide)
  assert.deepEqual(await Promise.all([ours, theirs, wide, naming].map(svc => opens(svc, shared))), [
    false,
    false,
    true,
    false,
  ])
  await assert.rejects(theirs.encryption.rewrap({ ciphertext: text }), { code: "decryption_failed" })
})

test("the organization's mail templates are every project's to send from and no project's to change", async () => {
  const owner = await p.person("acme")
  const other = await owner.projects.create({ name: "mailing" })
  const scopes = ["email:read", "email:write", "email:send"] as const
  const wide = p.as((await p.key("acme", scopes, { project_id: null })).secret)
  const ours = await p.client("acme", ...scopes)
  const theirs = p.as((await p.key("acme", scopes, { project_id: other.id })).secret)
  const body = (subject: string) => ({ name: "hello", subject, html: "<p>Hi</p>" })
  const shared = await wide.email.createTemplate(body("the organization's"))
  const own = await ours.email.createTemplate(body("the project's"))
  assert.deepEqual([shared.project_id, own.project_id], [null, (await p.tenant("acme")).projectId])

  const sentBy = async (svc: Svc) => {
    const { id } = await svc.email.sendTransactional({ template: "hello", to: "ada@example.com", data: {} })
    return (await svc.email.getMessage({ id })).subject
  }
  assert.equal(await sentBy(ours), "the project's")
  assert.equal(await sentBy(theirs), "the organization's")
  await assert.rejects(theirs.email.getTemplate({ id: own.id }), { code: "template_not_found" })
  await assert.rejects(theirs.email.deleteTemplate({ id: own.id }), { code: "template_not_found" })
  const reach = { status: 403, code: "organization_reach_required" }
  await assert.rejects(theirs.email.deleteTemplate({ id: shared.id }), reach)
  await assert.rejects(theirs.email.updateTemplate({ id: shared.id, ...body("mine") }), reach)
  assert.equal((await theirs.email.getTemplate({ id: shared.id })).subject, "the organization's")
  await wide.email.deleteTemplate({ id: shared.id })
})

test("a key sees the tickets and chats that it opened, also after its rotation, and people see the organization's", async () => {
  const owner = await p.person("acme")
  const mine = await p.key("acme", ["kv:read"])
  const svc = p.as(mine.secret)
  const other = await p.client("acme", "kv:read")
  const ticket = await svc.support.createTicket({ subject: "Help", description: "It does not work." })
  const chat = await svc.support.createChat({ message: "Hello?" })
  await assert.rejects(other.support.getTicket({ id: ticket.id }), { code: "ticket_not_found" })
  await assert.rejects(other.support.closeTicket({ id: ticket.id }), { code: "ticket_not_found" })
  await assert.rejects(other.support.getChat({ id: chat.id }), { code: "chat_session_not_found" })
  assert.equal((await other.support.listTickets()).total, 0)
  assert.equal((await other.support.listChats()).total, 0)
  const { secret = "" } = await owner.keys.rotate({ id: mine.id })
  assert.equal((await p.as(secret).support.getTicket({ id: ticket.id })).id, ticket.id)
  assert.equal((await owner.support.getTicket({ id: ticket.id })).id, ticket.id)
  const wide = p.as((await p.key("acme", ["admin:full"], { project_id: null })).secret)
  assert.equal((await wide.support.getChat({ id: chat.id })).id, chat.id)

  const { organizationId: org_id, projectId } = await p.tenant("acme")
  const headers = await p.session("acme", "member")
  const member = createSvc({ baseUrl: p.url, fetch: watchedFetch, retries: 0, headers })
  assert.equal((await member.support.getTicket({ id: ticket.id })).id, ticket.id)
  const { id: user_id, email } = await member.account.get()
  await owner.organizations.updateMember({ org_id, user_id, project_ids: [projectId] })
  await assert.rejects(member.support.getTicket({ id: ticket.id }), { code: "ticket_not_found" })
  const own = await member.support.createTicket({ subject: "Mine", description: "Too." })
  assert.equal((await member.support.getTicket({ id: own.id })).requester.email, email)
})
