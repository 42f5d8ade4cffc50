import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { realpath } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, type TestContext, test } from "node:test"
import fc from "fast-check"
import { eventually } from "../../testing/eventually.ts"
import { apiVersions, type Kind } from "../kubernetes/resources.ts"
import { branchTests, pointTests } from "./conformance/copies.ts"
import { created, newCredentials, newSubject, rejectsAs, runSql, sessionsOf } from "./conformance/fixture.ts"
import { engineConformance } from "./conformance.ts"
import { openCnpgEngine } from "./drivers/cnpg/driver.ts"
import { lsnValue } from "./drivers/cnpg/history.ts"
import { quantityOf } from "./drivers/cnpg/quantity.ts"
import { type TestSite, testSite } from "./drivers/cnpg/testing/site.ts"
import type { EnginePort } from "./port.ts"

engineConformance("CloudNativePG", async t => ({ port: await (await testSite(t)).open(), sql: runSql }))
describe("CloudNativePG without snapshots copies through the object store", () => {
  const backup = { objectStore: { destinationPath: "s3://history/" } }
  const open = async (t: TestContext) => ({ port: await (await testSite(t)).open({ backup }), sql: runSql })
  branchTests(open)
  pointTests(open)
})

/** What volumes are made of. */
const kinds = (Object.keys(apiVersions) as Kind[]).filter(
  kind => !["pods", "configmaps", "runtimeclasses", "sandboxes"].includes(kind),
)
const leftovers = ({ kubernetes }: TestSite): readonly string[] =>
  kinds.flatMap(kind => kubernetes.list(kind).map(({ metadata }) => `${kind}/${metadata.name}`))

const volume = () => ({ id: randomUUID(), pgVersion: 18, tier: "shared" }) as const

const stateOf = (port: EnginePort, id: string) => port.running().find(known => known.id === id)?.state

describe("CloudNativePG's resources", () => {
  test("destroying a volume and its copy leaves nothing in the namespace", async t => {
    const site = await testSite(t)
    const port = await site.open({ network: { ingress: [], egress: [] } })
    const source = await created({ port })
    const target = newSubject({ port })
    await port.branch(source.ref, target.ref, { kind: "head" }, target.credentials)
    assert.ok(kinds.every(kind => kind === "jobs" || site.kubernetes.list(kind).length > 0))
    await port.destroy(source.ref)
    await port.destroy(target.ref)
    await eventually("an empty namespace", async () => leftovers(site).length === 0)
  })

  test("what runs in place of pods has its files in the test's folder, which goes with it", async t => {
    const { dataDir } = await testSite(t)
    const folder = await realpath(dataDir)
    assert.equal(await realpath(join(dataDir, "databases")), join(folder, "databases"))
  })

  test("a machine that cannot make a volume ends the call at once, and says why", async t => {
    const site = await testSite(t)
    const port = await site.open()
    site.pods.create = async () => assert.fail("the disk is full")
    await assert.rejects(port.create(volume(), newCredentials()), /the disk is full/)
  })

  test("passwords are in Secrets and nowhere else", async t => {
    const site = await testSite(t)
    const port = await site.open()
    const { credentials } = await created({ port })
    const encoded = Object.values(credentials).flatMap(text => [text, Buffer.from(text).toString("base64")])
    for (const kind of kinds.filter(kind => kind !== "secrets")) {
      const text = JSON.stringify(site.kubernetes.list(kind))
      assert.ok(
        encoded.every(secret => !text.includes(secret)),
        kind,
      )
    }
  })

  test("the operator is asked for no superuser, for checksums, and for the image of the version", async t => {
    const site = await testSite(t)
    const port = await site.open({ imageNames: { 18: "registry/postgres:18" }, storageClass: "fast" })
    const { ref } = await created({ port })
    const { spec } = site.kubernetes.get("clusters", `svc-${ref.id}`)
    assert.equal(spec.enableSuperuserAccess, false)
    assert.equal(spec.imageName, "registry/postgres:18")
    assert.equal(spec.bootstrap.initdb.dataChecksums, true)
    assert.deepEqual(spec.storage, { size: "10Gi", storageClass: "fast" })
    assert.equal((await port.size(ref)).physicalBytes, 10 * 2 ** 30)
  })

  test("history is kept by whole days, as many as hold what is still wanted", async t => {
    const site = await testSite(t)
    const port = await site.open()
    const { ref } = await created({ port })
    await port.prune(ref, new Date(Date.now() - 36 * 3_600_000))
    assert.equal(site.kubernetes.get("objectstores", `svc-${ref.id}`).spec.retentionPolicy, "2d")
  })

  test("a volume that rests is not asked for base backups", async t => {
    const site = await testSite(t)
    const port = await site.open()
    const { ref } = await created({ port })
    const isPaused = () => site.kubernetes.get("scheduledbackups", `svc-${ref.id}`).spec.suspend
    await port.suspend(ref)
    assert.equal(isPaused(), true)
    await port.wake(ref)
    assert.equal(isPaused(), false)
  })

  test("a Cluster of somebody else's is refused, whatever its name", async t => {
    const site = await testSite(t)
    const port = await site.open()
    const ref = volume()
    site.kubernetes.put("clusters", `svc-${ref.id}`, { metadata: { annotations: {} }, spec: {} })
    await rejectsAs("refused", () => port.wake(ref))
    await rejectsAs("refused", () => port.create(ref, newCredentials()))
  })

  test("an id that is no UUID reaches no request", async t => {
    const site = await testSite(t)
    const port = await site.open()
    for (const id of ["", "../secrets", "a,b", randomUUID().toUpperCase()])
      await rejectsAs("refused", () => port.destroy({ ...volume(), id }))
    assert.ok(site.kubernetes.requests.every(request => request === "GET clusters"))
  })
})

describe("CloudNativePG without an archive", () => {
  test("the newest state is copied from the source itself, and no earlier one is offered", async t => {
    const site = await testSite(t)
    const port = await site.open({ backup: undefined })
    const fixture = { port, sql: runSql }
    const { owner } = sessionsOf(fixture, runSql)
    const source = await created(fixture)
    await owner(source, "CREATE TABLE number AS SELECT 1 AS n")
    const target = newSubject(fixture)
    const { lsn } = await port.branch(source.ref, target.ref, { kind: "head" }, target.credentials)
    assert.ok(lsnValue(lsn) > 0n)
    assert.deepEqual(await owner(target, "SELECT n FROM number"), [{ n: 1 }])
    const window = { earliest: null, latest: null, latestLsn: null, protection: "asynchronous" }
    assert.deepEqual(await port.window(source.ref), window)
    const time = new Date()
    await rejectsAs("refused", () =>
      port.branch(source.ref, volume(), { kind: "time", time }, newCredentials()),
    )
  })
})

describe("CloudNativePG when things go wrong", () => {
  test("a volume whose maker died is finished by the next one, and made once", async t => {
    const site = await testSite(t)
    site.operator.setPaused(true)
    const first = await site.open()
    const { ref, credentials } = newSubject({ port: first })
    const abandoned = first.create(ref, credentials)
    await eventually("the Cluster", async () => site.kubernetes.get("clusters", `svc-${ref.id}`))
    const [unfinished] = await Promise.allSettled([abandoned, first[Symbol.asyncDispose]()])
    assert.equal(unfinished.status, "rejected")
    const { uid } = site.kubernetes.get("clusters", `svc-${ref.id}`).metadata
    const second = await site.open()
    site.operator.setPaused(false)
    await second.create(ref, credentials)
    assert.equal(stateOf(second, ref.id), "active")
    assert.equal(site.kubernetes.get("clusters", `svc-${ref.id}`).metadata.uid, uid)
  })

  test("a recovery that fails leaves nothing of the copy, which can then be made", async t => {
    const site = await testSite(t)
    const port = await site.open()
    const source = await created({ port })
    const before = leftovers(site).filter(name => name.includes(source.ref.id))
    const target = newSubject({ port })
    const branch = () => port.branch(source.ref, target.ref, { kind: "head" }, target.credentials)
    site.operator.failRecoveries(true)
    await rejectsAs("unavailable", branch)
    await eventually("the removal", async () => {
      const left = leftovers(site).filter(name => name.includes(target.ref.id) && !name.endsWith("-base"))
      return left.length === 0
    })
    assert.ok(before.every(name => leftovers(site).includes(name)))
    site.operator.failRecoveries(false)
    await branch()
    assert.equal(stateOf(port, target.ref.id), "active")
  })

  test("what another process does to a volume is seen", async t => {
    const site = await testSite(t)
    const [one, other] = [await site.open(), await site.open()]
    const { ref } = await created({ port: one })
    await eventually("the news", async () => stateOf(other, ref.id) === "active")
    await other.suspend(ref)
    await eventually("the news", async () => stateOf(one, ref.id) === undefined)
    assert.ok((await one.wake(ref)).wakeMs > 0)
  })

  test("a server that ends by itself is told, and one that is put to rest is not", async t => {
    const site = await testSite(t)
    const port = await site.open()
    const ended: string[] = []
    using _subscription = port.subscribe({ stopped: id => void ended.push(id) })
    const [crashed, rested] = [await created({ port }), await created({ port })]
    await port.suspend(rested.ref)
    const status = { phase: "Failing over", readyInstances: 0 }
    site.operator.setPaused(true)
    site.kubernetes.put("clusters", `svc-${crashed.ref.id}`, { status })
    await eventually("the news", async () => ended.length > 0)
    assert.deepEqual(ended, [crashed.ref.id])
    assert.equal(stateOf(port, crashed.ref.id), "starting")
    site.operator.setPaused(false)
    assert.ok((await port.wake(crashed.ref)).host.length > 0)
  })

  test("while the API is away calls are unavailable, and no news is lost when it is back", async t => {
    const site = await testSite(t)
    const port = await site.open()
    const [one, other] = [await created({ port }), await created({ port })]
    site.operator.setPaused(true)
    site.kubernetes.setDown(true)
    const health = await port.health()
    assert.ok(!health.ok && health.reason)
    await rejectsAs("unavailable", () => port.suspend(one.ref))
    await rejectsAs("unavailable", () => port.create(volume(), newCredentials()))
    // Servers do not need the API, and neither do those who know where one is.
    assert.equal((await port.wake(other.ref)).wakeMs, 0)
    site.kubernetes.setDown(false)
    site.kubernetes.put("clusters", `svc-${one.ref.id}`, { status: { phase: "Failing over" } })
    site.kubernetes.compact()
    await eventually("the news", async () => stateOf(port, one.ref.id) === "starting")
    assert.equal((await port.health()).ok, true)
  })

  test("an operator that does nothing makes a call unavailable in time", async t => {
    const site = await testSite(t)
    const port = await site.open({ stateTimeoutMs: 200 })
    site.operator.setPaused(true)
    await rejectsAs("unavailable", () => port.create(volume(), newCredentials()))
  })

  test("a definition that the operator gives up is refused", async t => {
    const site = await testSite(t)
    const port = await site.open()
    site.operator.setPaused(true)
    const ref = volume()
    const creating = port.create(ref, newCredentials())
    await eventually("the Cluster", async () => site.kubernetes.get("clusters", `svc-${ref.id}`))
    const status = { phase: "Cluster has incomplete or invalid image catalog" }
    site.kubernetes.put("clusters", `svc-${ref.id}`, { status })
    await rejectsAs("refused", () => creating)
  })
})

const openAt = async (t: TestContext, apiUrl: string, requestTimeoutMs?: number) => {
  const port = await openCnpgEngine({
    apiUrl,
    token: "wrong-secret",
    namespace: "databases",
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
  })
  t.after(() => port[Symbol.asyncDispose]())
  return port
}

describe("The API of Kubernetes", () => {
  test("a wrong token is told without telling the token", async t => {
    const { kubernetes } = await testSite(t)
    const health = await (await openAt(t, kubernetes.url)).health()
    assert.ok(!health.ok && health.reason?.includes("401") && !health.reason.includes("wrong-secret"))
  })

  test("one that never answers makes calls unavailable", async t => {
    const server = createServer(() => undefined).listen(0, "127.0.0.1")
    await once(server, "listening")
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    const port = await openAt(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, 100)
    await rejectsAs("unavailable", () => port.wake(volume()))
    assert.equal((await port.health()).ok, false)
  })

  test("amounts are read as Kubernetes writes them, and anything else is none", () => {
    const cases = {
      "10Gi": 10 * 2 ** 30,
      "1.5T": 1.5e12,
      "12e6": 12e6,
      "5": 5,
      "100m": 1,
      "": 0,
      "-1Gi": 0,
      "1Xi": 0,
    }
    for (const [text, bytes] of Object.entries(cases)) assert.equal(quantityOf(text), bytes, text)
  })

  test("positions in a log are ordered as the log is", async () => {
    const half = fc.integer({ min: 0, max: 0xffffffff })
    const written = (high: number, low: number) =>
      `${high.toString(16).toUpperCase()}/${low.toString(16).toUpperCase()}`
    fc.assert(
      fc.property(
        half,
        half,
        (high, low) => lsnValue(written(high, low)) === BigInt(high) * 2n ** 32n + BigInt(low),
      ),
    )
    for (const text of ["", "0", "0/", "/0", "0/0/0", "0/123456789", "G/0", "0/0\n"])
      await rejectsAs("refused", async () => lsnValue(text))
  })
})
