/** A high-risk operation of a `require_approval` key waits for a person: asked of every one that there is. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { allOperations, type Operation, takesOrganization } from "@svc/contract"
import { ApprovalPending, type OperationName, type Svc } from "@svc/sdk"
import { everyScope, platform, type TestPlatform } from "./platform.ts"
import { createSampleWorld, type SampleWorld } from "./sample-world.ts"
import { samples } from "./samples.ts"

let p: TestPlatform
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
})
after(() => opened.disposeAsync())

/** The operations that wait. One is taken out of this list by a decision, not by a slip of its declaration. */
const HIGH = `
  billing.confirmPayment
  billing.grantCredit
  compliance.gdprDelete
  compliance.updateRequestStatus
  computers.delete
  databases.delete
  databases.deleteBranch
  databases.pitr
  databases.resetBranch
  databases.restoreBranch
  deployments.delete
  email.deleteDomain
  email.updateSettings
  encryption.rotateKey
  events.rotateSecret
  functions.delete
  integrations.createInstallationToken
  integrations.delete
  integrations.rotateSecret
  organizations.setPlan
  run.delete
  s3.deleteBucket
  s3.postBucket
  storage.deleteBucket
  storage.deleteObjects
  vectors.deleteCollection
  vpc.delete
  waf.deleteRule
  webhooks.rotateSecret
`
  .trim()
  .split(/\s+/)

/** Whether these wait depends on what they are asked: an input that does. */
const BY_INPUT: {
  readonly [Name in OperationName]?: (world: SampleWorld) => Promise<Record<string, unknown>>
} = {
  "sql.execute": async () => ({ sql: "DROP TABLE orders" }),
  "sql.batch": async () => ({ statements: [{ sql: "SELECT 1" }, { sql: "TRUNCATE orders" }] }),
  "cron.create": async () => ({
    name: "cleaning",
    cron: "0 3 * * *",
    target: { type: "sql", statement: "DELETE FROM orders" },
  }),
  "cron.update": async ({ key }) => {
    const target = { type: "http", url: "https://nowhere.invalid/" } as const
    const { id } = await key.cron.create({ name: "calling", interval_seconds: 3600, target })
    return { id, target: { type: "sql", statement: "TRUNCATE orders" } }
  },
  "cron.replace": async world => ({
    ...(await samples["cron.replace"]?.(world)),
    target: { type: "sql", statement: "TRUNCATE orders" },
  }),
  // Its installation would have to be GitHub's; who may ask is decided before it is looked for.
  "integrations.createInstallationToken": async () => ({ installation_id: 1 }),
  "webhooks.update": async world => ({
    ...(await samples["webhooks.update"]?.(world)),
    secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
  }),
}

const inputOf = async (world: SampleWorld, { name, params, example }: Operation) => {
  const sample = BY_INPUT[name as OperationName] ?? samples[name as OperationName]
  if (sample) return sample(world)
  const nobody = "00000000-0000-7000-8000-000000000000"
  return {
    ...example,
    ...Object.fromEntries(Object.keys(params?.properties ?? {}).map(field => [field, nobody])),
  }
}

test("the high-risk operations are those of the list", () => {
  const declared = (risk: string) =>
    allOperations.filter(operation => operation.risk === risk).map(({ name }) => name)
  assert.deepEqual(declared("high").sort(), [...HIGH].sort())
  assert.deepEqual(
    declared("by-input").sort(),
    Object.keys(BY_INPUT)
      .filter(name => !HIGH.includes(name))
      .sort(),
  )
})

test("each high-risk operation waits under require_approval, and has no effect until a person decides", async () => {
  const world = await createSampleWorld(p, "acme")
  await world.key.sql.execute({ sql: "CREATE TABLE orders (id integer)" })
  const bound = p.as((await p.key("acme", everyScope, { require_approval: true })).secret)
  const wide = p.as((await p.key("acme", everyScope, { project_id: null, require_approval: true })).secret)
  const waiting = allOperations.filter(({ risk, envelope }) => risk !== undefined && envelope !== "s3")
  for (const operation of waiting) {
    const input = await inputOf(world, operation)
    const asking = takesOrganization(operation) ? wide : bound
    const asked = asking.request(operation.name as OperationName, input as never)
    await assert.rejects(asked, ApprovalPending, operation.name)
  }
  const pending = async (svc: Svc) => (await svc.approvals.list({ status: "pending", limit: 1 })).total
  assert.equal((await pending(bound)) + (await pending(wide)), waiting.length)
  assert.equal((await world.key.sql.execute({ sql: "SELECT * FROM orders" })).row_count, 0)
})

test("S3 has no answer for waiting, so its high-risk operations refuse such a key", async () => {
  const { secret } = await p.key("acme", everyScope, { require_approval: true })
  for (const [method, path] of [
    ["DELETE", "/s3/photos"],
    ["POST", "/s3/photos?delete"],
  ] as const) {
    const response = await p.request(path, { method, headers: { authorization: `Bearer ${secret}` } })
    assert.equal(response.status, 403)
    assert.equal(response.headers.get("x-error-code"), "approval_not_possible")
    await response.body?.cancel()
  }
})

test("an approved statement runs, exactly that one and once, and what is not high-risk does not wait", async () => {
  const world = await createSampleWorld(p, "globex")
  const asking = p.as((await p.key("globex", everyScope, { require_approval: true })).secret)
  await asking.sql.execute({ sql: "CREATE TABLE orders (id integer)" })
  await asking.sql.execute({ sql: "INSERT INTO orders VALUES (1), (2)" })
  await asking.sql.execute({ sql: "DELETE FROM orders WHERE id = 2" })
  const pending = await asking.sql.execute({ sql: "DELETE FROM orders" }).then(
    () => assert.fail("it did not wait"),
    (error: unknown) => (error as ApprovalPending).approval,
  )
  assert.match(pending.detail ?? "", /without a WHERE.*: DELETE FROM orders$/)
  assert.equal((await asking.sql.execute({ sql: "SELECT * FROM orders" })).row_count, 1)
  const decided = await world.person.approvals.approve({ id: pending.id })
  assert.equal(decided.status, "executed")
  assert.equal((await asking.sql.execute({ sql: "SELECT * FROM orders" })).row_count, 0)
  await assert.rejects(world.person.approvals.approve({ id: pending.id }), {
    code: "approval_already_decided",
  })
})

test("a driver that takes every success for a result is refused instead of told to wait", async () => {
  const { secret } = await p.key("globex", everyScope, { require_approval: true })
  const response = await p.request("/api/v1/sql", {
    method: "POST",
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
      "neon-connection-string": "postgresql://owner@localhost/main",
      "neon-raw-text-output": "true",
      "neon-array-mode": "true",
    },
    body: JSON.stringify({ query: "DROP TABLE orders", params: [] }),
  })
  assert.equal(response.status, 403)
  assert.equal(((await response.json()) as { code: string }).code, "approval_not_possible")
})
