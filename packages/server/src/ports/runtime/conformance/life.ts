import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import type { Guest } from "../port.ts"
import {
  LIST,
  persistent,
  processesWith,
  rejectsAs,
  run,
  type Subject,
  shell,
  specOf,
  startIn,
} from "./fixture.ts"

const startTests = (subject: Subject): void => {
  test("commands run as soon as a workload has started, and a second start gives the same one", async t => {
    const { guest, spec } = await startIn(t, subject)
    assert.equal((await shell(guest, "echo $((6 * 7))")).stdout, "42\n")
    assert.equal(await subject.runtime.start(spec), guest)
    assert.equal(subject.runtime.running(spec.id), guest)
    assert.ok((await subject.runtime.list()).includes(spec.id))
    assert.equal((await shell(guest, "hostname")).stdout, "box\n")
  })

  test("callers who start one workload at the same moment share it", async t => {
    const spec = specOf()
    t.after(() => subject.runtime.destroy(spec.id))
    const guests = await Promise.all(Array.from({ length: 20 }, () => subject.runtime.start(spec)))
    assert.equal(new Set(guests).size, 1)
  })

  test("what a driver cannot give is refused before anything starts", async () => {
    const { runtime } = subject
    const filtered = { mode: "filtered", allow: null, deny: [] } as const
    if (runtime.capabilities.network === "none")
      await rejectsAs("refused", () => runtime.start(specOf({ network: filtered })))
    await rejectsAs("refused", () => runtime.start(specOf({ id: "../../etc" })))
    await rejectsAs("refused", () => runtime.start(specOf({ hostname: "a b" })))
    await rejectsAs("missing", () => runtime.stats(randomUUID()))
  })
}

const stopTests = (subject: Subject): void => {
  test("a stop ends processes that ignore signals and ones that left their parents", async t => {
    const { guest, spec } = await startIn(t, subject)
    const marker = `.${Math.floor(Math.random() * 1e9)}`
    const deaf = `trap "" TERM HUP INT; while :; do sleep 9999${marker}; done`
    await shell(
      guest,
      `(setsid sh -c '${deaf}' >/dev/null 2>&1 &) ; setsid sh -c '${deaf}' >/dev/null 2>&1 &`,
    )
    const held = await guest.exec({ argv: ["/bin/sh", "-c", `trap "" TERM; echo deaf; ${deaf}`] })
    await once(held.stdout, "data")
    const fate = assert.rejects(held.exited, { kind: "unavailable" })
    await subject.runtime.stop(spec.id, 200)
    await fate
    assert.equal(await guest.ended, "stopped")
    assert.deepEqual(await processesWith(marker), [])
    assert.equal(subject.runtime.running(spec.id), undefined)
  })

  test("who ends at SIGTERM has the grace to do it, and a stop does not wait longer than that takes", async t => {
    const { guest, spec } = await startIn(t, subject, persistent)
    const tidy =
      "trap 'sleep 0.2; echo done >/workspace/tidy; exit' TERM; echo ready; while :; do sleep 0.05; done"
    const command = await guest.exec({ argv: ["/bin/sh", "-c", tidy] })
    for await (const said of command.stdout) if (String(said).includes("ready")) break
    await subject.runtime.stop(spec.id, 600_000)
    const again = await subject.runtime.start(spec)
    assert.equal((await shell(again, "cat /workspace/tidy")).stdout, "done\n")
  })

  test("a stop and a destroy may be repeated, and mind nothing that is not there", async t => {
    const { guest, spec } = await startIn(t, subject)
    await Promise.all([subject.runtime.stop(spec.id, 0), subject.runtime.stop(spec.id, 0)])
    assert.equal(await guest.ended, "stopped")
    await subject.runtime.destroy(spec.id)
    await subject.runtime.destroy(spec.id)
    await subject.runtime.stop(randomUUID(), 0)
    assert.ok(!(await subject.runtime.list()).includes(spec.id))
  })

  test("calls on a workload that ended are unavailable, and streams of it end with an error", async t => {
    const { guest, spec } = await startIn(t, subject)
    const command = await guest.exec({ argv: ["sleep", "1000"] })
    const output = assert.rejects(text(command.stdout))
    await subject.runtime.stop(spec.id, 0)
    await output
    await rejectsAs("unavailable", () => run(guest, { argv: ["true"] }))
    await rejectsAs("unavailable", () => guest.readFile("/etc/passwd", []))
    await rejectsAs("unavailable", () => guest.writeFile("/tmp/x", Buffer.from("x"), { roots: [] }))
    await rejectsAs("unavailable", () => guest.connect(80))
  })
}

const diskTests = (subject: Subject): void => {
  const remember = (guest: Guest) => shell(guest, "echo kept >/workspace/file; echo home >/home/user/file")

  test("a persistent disk has what was written after a stop and a start, until it is destroyed", async t => {
    const { guest, spec } = await startIn(t, subject, persistent)
    await remember(guest)
    await shell(guest, "echo 1.2.3.4 elsewhere >>/etc/hosts", { user: "root" })
    await subject.runtime.stop(spec.id, 1_000)
    assert.ok((await subject.runtime.list()).includes(spec.id))
    const again = await subject.runtime.start(spec)
    assert.equal((await shell(again, "cat /workspace/file ~/file")).stdout, "kept\nhome\n")
    assert.match((await shell(again, "cat /etc/hosts")).stdout, /elsewhere/)
    await subject.runtime.destroy(spec.id)
    const other = await subject.runtime.start(spec)
    assert.equal((await shell(other, `${LIST} /workspace`)).stdout, "")
  })

  test("a disk in memory is empty at each start", async t => {
    const { guest, spec } = await startIn(t, subject)
    await remember(guest)
    await subject.runtime.stop(spec.id, 0)
    const again = await subject.runtime.start(spec)
    assert.equal((await shell(again, `${LIST} /workspace`)).stdout, "")
  })

  test("a disk can be made before its workload starts, and again", async t => {
    const spec = specOf(persistent)
    t.after(() => subject.runtime.destroy(spec.id))
    await subject.runtime.create(spec)
    await subject.runtime.create(spec)
    assert.ok((await subject.runtime.list()).includes(spec.id))
    assert.equal(subject.runtime.running(spec.id), undefined)
    assert.equal((await shell(await subject.runtime.start(spec), "echo here")).stdout, "here\n")
  })
}

const statTests = (subject: Subject): void => {
  test("stats count processor time, memory, processes and disk", async t => {
    const { guest, spec } = await startIn(t, subject, persistent)
    const before = await subject.runtime.stats(spec.id)
    const worker = await guest.exec({ argv: ["/bin/sh", "-c", "while :; do :; done"] })
    await eventually("it has worked", async () => {
      const { cpuMs } = await subject.runtime.stats(spec.id)
      return cpuMs > before.cpuMs
    })
    worker.kill("SIGKILL")
    await shell(guest, "head -c 5000000 /dev/zero >/workspace/x; sync")
    await guest.exec({ argv: ["sleep", "1000"] })
    const after = await subject.runtime.stats(spec.id)
    assert.ok(after.memoryBytes > 0 && after.memoryPeakBytes >= after.memoryBytes)
    assert.ok(after.processes > before.processes)
    assert.ok(after.diskBytes - before.diskBytes > 4_000_000, `${before.diskBytes} to ${after.diskBytes}`)
  })

  test("a frozen workload does nothing until it is thawed, and can be stopped as it is", async t => {
    if (!subject.runtime.capabilities.freeze) return t.skip("the driver cannot freeze")
    const { guest, spec } = await startIn(t, subject)
    const ticks = () => subject.runtime.stats(spec.id).then(({ cpuMs }) => cpuMs)
    await guest.exec({ argv: ["/bin/sh", "-c", "while :; do :; done"] })
    await guest.freeze()
    const frozenAt = await ticks()
    const answer = shell(guest, "echo thawed")
    for (let n = 0; n < 20; n += 1) assert.ok((await ticks()) - frozenAt < 20)
    await guest.thaw()
    assert.equal((await answer).stdout, "thawed\n")
    await eventually("the loop goes on", async () => (await ticks()) > frozenAt + 20)
    await guest.freeze()
    await subject.runtime.stop(spec.id, 0)
    assert.equal(await guest.ended, "stopped")
  })
}

export const lifeTests = (subject: Subject): void => {
  startTests(subject)
  stopTests(subject)
  diskTests(subject)
  statTests(subject)
}
