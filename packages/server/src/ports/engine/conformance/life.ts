/** Promises about volumes that are made, wake, rest and go. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { created, newCredentials, newSubject, type OpenEngine, rejectsAs } from "./fixture.ts"

export const lifeTests = (open: OpenEngine): void => {
  test("an engine that is open is well, and offers a version and a tier", async t => {
    const { port } = await open(t)
    assert.equal((await port.health()).ok, true)
    assert.ok(port.capabilities.versions.length > 0 && port.capabilities.tiers.length > 0)
  })

  test("a volume runs when it has been made, and making it again makes nothing", async t => {
    const fixture = await open(t)
    const { ref, credentials } = await created(fixture)
    const stateOf = () => fixture.port.running().find(({ id }) => id === ref.id)?.state
    assert.equal(stateOf(), "active")
    const endpoint = await fixture.port.wake(ref)
    assert.equal(endpoint.wakeMs, 0)
    await fixture.port.create(ref, credentials)
    assert.equal(stateOf(), "active")
    assert.deepEqual(await fixture.port.wake(ref), endpoint)
  })

  test("what is asked of a volume that does not exist is missing, and freeing it does nothing", async t => {
    const fixture = await open(t)
    const { port } = fixture
    const { ref, credentials } = newSubject(fixture)
    const target = newSubject(fixture)
    await rejectsAs("missing", () => port.wake(ref))
    await rejectsAs("missing", () => port.suspend(ref))
    await rejectsAs("missing", () => port.window(ref))
    await rejectsAs("missing", () => port.size(ref))
    await rejectsAs("missing", () => port.setCredentials(ref, credentials))
    if (port.capabilities.verifiers) await rejectsAs("missing", () => port.verifierOf(ref, "owner"))
    else await rejectsAs("refused", () => port.verifierOf(ref, "owner"))
    await rejectsAs("missing", () => port.branch(ref, target.ref, { kind: "head" }, target.credentials))
    await port.destroy(ref)
    await rejectsAs("missing", () => port.wake(target.ref))
  })

  test("a volume that was destroyed is missing, and destroying it again does nothing", async t => {
    const fixture = await open(t)
    const { port } = fixture
    const { ref } = await created(fixture)
    await port.destroy(ref)
    await rejectsAs("missing", () => port.wake(ref))
    assert.equal(
      port.running().some(({ id }) => id === ref.id),
      false,
    )
    await port.destroy(ref)
  })

  test("a volume takes room, and its history no more than all of it", async t => {
    const fixture = await open(t)
    const { ref } = await created(fixture)
    const { physicalBytes, historyBytes } = await fixture.port.size(ref)
    assert.ok(physicalBytes > 0 && historyBytes >= 0 && historyBytes <= physicalBytes)
  })

  test("forgetting history from before a volume was made leaves the volume as it is", async t => {
    const fixture = await open(t)
    const { ref } = await created(fixture)
    await fixture.port.prune(ref, new Date(Date.now() - 86_400_000))
    assert.equal((await fixture.port.wake(ref)).wakeMs, 0)
  })
}

export const wakeTests = (open: OpenEngine): void => {
  test("a volume at rest is not running, is told to rest again without harm, and wakes", async t => {
    const fixture = await open(t)
    const { port } = fixture
    const { ref } = await created(fixture)
    await port.suspend(ref)
    assert.equal(
      port.running().some(({ id }) => id === ref.id),
      false,
    )
    assert.equal((await port.window(ref)).protection, "at_rest")
    assert.equal(await port.inspect(ref), undefined)
    await port.suspend(ref)
    assert.ok((await port.wake(ref)).wakeMs > 0)
    assert.equal((await port.wake(ref)).wakeMs, 0)
  })

  test("making a volume that exists and rests disturbs it in nothing but its rest", async t => {
    const fixture = await open(t)
    const { ref, credentials } = await created(fixture)
    await fixture.port.suspend(ref)
    await fixture.port.create(ref, credentials)
    await fixture.port.wake(ref)
  })

  test("a caller that stops waiting does not stop the start for the others", async t => {
    const fixture = await open(t)
    const { port } = fixture
    const { ref } = await created(fixture)
    await port.suspend(ref)
    const impatient = new AbortController()
    const left = port.wake(ref, impatient.signal)
    const stayed = port.wake(ref)
    impatient.abort()
    await rejectsAs("unavailable", () => left)
    assert.ok((await stayed).host.length > 0)
  })

  test("volumes are told apart: resting one leaves the other awake", async t => {
    const fixture = await open(t)
    const [one, other] = await Promise.all([created(fixture), created(fixture)])
    await fixture.port.suspend(one.ref)
    assert.deepEqual(
      fixture.port
        .running()
        .filter(({ id }) => id === one.ref.id || id === other.ref.id)
        .map(({ id, state }) => ({ id, state })),
      [{ id: other.ref.id, state: "active" }],
    )
  })

  test("a time that has not come yet is refused as a point, and leaves no volume behind", async t => {
    const fixture = await open(t)
    const { port } = fixture
    const { ref } = await created(fixture)
    const target = { ...ref, id: randomUUID() }
    const time = new Date(Date.now() + 3_600_000)
    await rejectsAs("refused", () => port.branch(ref, target, { kind: "time", time }, newCredentials()))
    await rejectsAs("missing", () => port.wake(target))
  })

  test("a time from before the volume was made is refused as a point, and leaves no volume behind", async t => {
    const fixture = await open(t)
    const { port } = fixture
    const { ref } = await created(fixture)
    const target = { ...ref, id: randomUUID() }
    const time = new Date(Date.now() - 86_400_000)
    await rejectsAs("refused", () => port.branch(ref, target, { kind: "time", time }, newCredentials()))
    await rejectsAs("missing", () => port.wake(target))
  })
}
