import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { type TestContext, test } from "node:test"
import { PortError, type PortErrorKind } from "../port-error.ts"
import { document, finds, query } from "./conformance/fixture.ts"
import { searchConformance } from "./conformance.ts"
import { openOpenSearch } from "./drivers/opensearch/driver.ts"
import { startFakeOpenSearch } from "./testing/fake-opensearch.ts"

const open = async (t: TestContext) => {
  const fake = await startFakeOpenSearch()
  t.after(() => fake[Symbol.asyncDispose]())
  const options = { url: fake.url, user: "svc", password: "p:w", index: "svc-search" }
  return { fake, port: await openOpenSearch(options) }
}

searchConformance("OpenSearch", async t => (await open(t)).port)

test("every request for an owner is routed by it and carries the credentials", async t => {
  const { fake, port } = await open(t)
  const owner = randomUUID()
  await port.put(owner, [document("1", "walnut")])
  await finds(port, owner, "walnut", ["1"])
  const searches = fake.requests.filter(({ path }) => path.includes("_search"))
  assert.ok(searches.length > 0 && searches.every(({ path }) => path.includes(`routing=${owner}`)))
  const expected = `Basic ${Buffer.from("svc:p:w").toString("base64")}`
  assert.ok(fake.requests.every(({ authorization }) => authorization === expected))
})

test("an engine that fails is unavailable or refuses, and works once it is back", async t => {
  const { fake, port } = await open(t)
  const owner = randomUUID()
  for (const [status, kind] of [
    [503, "unavailable"],
    [429, "unavailable"],
    [400, "refused"],
  ] as [number, PortErrorKind][]) {
    fake.fail(status)
    await assert.rejects(
      port.search(owner, query("walnut")),
      (error: unknown) => error instanceof PortError && error.kind === kind,
    )
    assert.equal((await port.health()).ok, false)
  }
  fake.fail(undefined)
  await port.put(owner, [document("1", "walnut")])
  await finds(port, owner, "walnut", ["1"])
})
