/** Who uses too much hurts himself, and neither the platform nor his neighbours. */

import assert from "node:assert/strict"
import { once } from "node:events"
import { test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import {
  LIST,
  MiB,
  perl,
  persistent,
  processesWith,
  rejectsAs,
  run,
  type Subject,
  shell,
  startIn,
  tooMuchFor,
} from "./fixture.ts"

const ROUNDS = 20

const processTests = (subject: Subject): void => {
  test("a fork bomb stays within its processes, the neighbour works, and a stop ends it", async t => {
    if (!subject.runtime.capabilities.limits.processes) return t.skip("the driver cannot limit processes")
    const { guest, spec } = await startIn(t, subject, { processesMax: 40 })
    const { guest: neighbour } = await startIn(t, subject)
    const marker = `bomb${Math.floor(Math.random() * 1e9)}`
    const bomb = `$SIG{TERM} = "IGNORE"; $0 = "${marker}"; while (1) { fork; }`
    await guest.exec({ argv: ["perl", "-e", bomb, marker] })
    const count = () => subject.runtime.stats(spec.id).then(({ processes }) => processes)
    await eventually("it has what it may have", async () => (await count()) >= 40)
    for (let n = 0; n < ROUNDS; n += 1) {
      assert.ok((await count()) <= 41)
      assert.equal((await shell(neighbour, "echo well")).stdout, "well\n")
    }
    await subject.runtime.stop(spec.id, 100)
    await guest.ended
    assert.deepEqual(await processesWith(marker), [])
  })

  test("a command that forks without end is gone with all its children after one SIGKILL", async t => {
    const { guest, spec } = await startIn(t, subject, { processesMax: 30 })
    // Where nobody counts them it has an end, at 32 processes.
    const fork = subject.runtime.capabilities.limits.processes ? "fork" : "fork if $depth++ < 5"
    const bomb = `my $depth = 0; $| = 1; print "x";
      while (1) { ${fork}; setpgrp; select undef, undef, undef, 0.05 }`
    const command = await guest.exec({ argv: ["perl", "-e", bomb] })
    const count = () => subject.runtime.stats(spec.id).then(({ processes }) => processes)
    await once(command.stdout, "data")
    await eventually("there are some", async () => (await count()) > 20)
    command.kill("SIGKILL")
    await eventually("they are gone", async () => (await count()) <= 2)
    assert.equal((await shell(guest, "echo well")).stdout, "well\n")
  })
}

const memoryTests = (subject: Subject): void => {
  test("who takes too much memory is killed and counted, be it a command or the workload, and its neighbour goes on", async t => {
    if (!subject.runtime.capabilities.limits.memory) return t.skip("the driver cannot limit memory")
    const { guest, spec } = await startIn(t, subject, { memoryBytes: 64 * MiB })
    const { guest: neighbour } = await startIn(t, subject, { memoryBytes: 64 * MiB })
    const takeAll = () => perl(guest, "my @a; push @a, 'x' x 1_000_000 while 1")
    if (subject.runtime.capabilities.outOfMemory === "workload") {
      await rejectsAs("unavailable", takeAll)
      assert.equal(await guest.ended, "out_of_memory")
      assert.equal((await shell(await subject.runtime.start(spec), "echo again")).stdout, "again\n")
      assert.equal((await shell(neighbour, "echo well")).stdout, "well\n")
      return
    }
    assert.equal((await takeAll()).signal, "SIGKILL")
    assert.ok((await subject.runtime.stats(spec.id)).outOfMemoryKills >= 1)
    assert.equal((await shell(guest, "echo alive")).stdout, "alive\n")
    assert.equal((await shell(neighbour, "echo well")).stdout, "well\n")
  })

  test("files in memory count as memory, wherever they are, and leave the neighbour alone", async t => {
    if (!subject.runtime.capabilities.limits.memory) return t.skip("the driver cannot limit memory")
    const { guest } = await startIn(t, subject, {
      memoryBytes: 64 * MiB,
      disk: { kind: "memory", bytes: 1024 * MiB },
    })
    const { guest: neighbour } = await startIn(t, subject)
    const fill = "for d in /workspace /dev/shm /run /tmp; do head -c 200000000 /dev/zero >$d/fill; done"
    const end = await shell(guest, fill).then(
      ({ code }) => (code === 0 ? "had room" : "out_of_memory"),
      () => guest.ended,
    )
    const isTold = !subject.runtime.capabilities.reasons.some(reason => reason.includes("want of memory"))
    assert.ok(end === "out_of_memory" || (!isTold && end === "died"), end)
    assert.equal((await shell(neighbour, "echo well")).stdout, "well\n")
  })
}

const diskTests = (subject: Subject): void => {
  test("a disk takes what it holds and no more, in bytes and in files, and can be emptied again", async t => {
    const tooMuch = tooMuchFor(subject)
    if (tooMuch !== undefined) return t.skip(tooMuch)
    if (!subject.runtime.capabilities.limits.disk) return t.skip("the driver cannot limit disks")
    const { guest } = await startIn(t, subject, { ...persistent, memoryBytes: 512 * MiB })
    const full = await shell(guest, "head -c 200000000 /dev/zero >/workspace/fill")
    assert.match(full.stderr, /No space left/)
    assert.match((await shell(guest, "head -c 9000000 /dev/zero >/tmp/more")).stderr, /No space left/)
    assert.equal(
      (await shell(guest, "rm fill && head -c 9000000 /dev/zero >/tmp/more && echo room")).stdout,
      "room\n",
    )
    const many = await perl(guest, 'for (1 .. 3_000_000) { open my $f, ">", "f$_" or die "$_ $!"; }')
    assert.match(many.stderr, /No space left/)
  })

  test("a scratch disk holds more than the memory, no more than its size, and nothing after a stop", async t => {
    const tooMuch = tooMuchFor(subject)
    if (tooMuch !== undefined) return t.skip(tooMuch)
    const { limits, scratchDisks } = subject.runtime.capabilities
    if (!limits.disk || !scratchDisks) return t.skip("the driver has no scratch disks beside the memory")
    const disk = { kind: "scratch", bytes: 192 * MiB } as const
    const { guest, spec } = await startIn(t, subject, { disk, memoryBytes: 96 * MiB })
    const fill = (bytes: number) => shell(guest, `head -c ${bytes} /dev/zero >>/workspace/fill && echo done`)
    assert.deepEqual(await fill(150_000_000), { stdout: "done\n", stderr: "", code: 0, signal: null })
    const { diskBytes } = await subject.runtime.stats(spec.id)
    assert.ok(diskBytes >= 150_000_000 && diskBytes <= disk.bytes, String(diskBytes))
    assert.match((await fill(60_000_000)).stderr, /No space left/)
    await subject.runtime.stop(spec.id, 0)
    const again = await subject.runtime.start(spec)
    assert.equal((await shell(again, `${LIST} /workspace`)).stdout, "")
  })

  test("nobody fills what is not his disk", async t => {
    const { guest } = await startIn(t, subject)
    const { narrowsKernelFiles } = subject.runtime.capabilities
    const places = `/ /usr /bin /proc ${narrowsKernelFiles ? "/dev" : ""} /dev/pts /.svc /.svc/etc`
    const tried = await shell(guest, `for d in ${places}; do : >$d/fill && echo $d; done; mkdir /new`, {
      user: "root",
    })
    assert.equal(tried.stdout, "")
  })
}

const processorTests = (subject: Subject): void => {
  test("who wants all processors gets his share of them", async t => {
    if (!subject.runtime.capabilities.limits.cpu) return t.skip("the driver cannot limit processor time")
    const { guest, spec } = await startIn(t, subject, { vcpus: 0.2 })
    for (let n = 0; n < 4; n += 1) await guest.exec({ argv: ["/bin/sh", "-c", "while :; do :; done"] })
    // In this order: what it uses while the answer is on its way has its time counted too.
    const startedAt = performance.now()
    const before = (await subject.runtime.stats(spec.id)).cpuMs
    await eventually("it has worked", async () => (await subject.runtime.stats(spec.id)).cpuMs > before + 300)
    const used = (await subject.runtime.stats(spec.id)).cpuMs - before
    const share = used / (performance.now() - startedAt)
    assert.ok(share < 0.35, `used ${share} processors`)
  })
}

const floodTests = (subject: Subject): void => {
  test("floods of output and of agents' answers stay bounded in the platform, and others are served meanwhile", async t => {
    const tooMuch = tooMuchFor(subject)
    if (tooMuch !== undefined) return t.skip(tooMuch)
    const { guest } = await startIn(t, subject)
    const { guest: neighbour } = await startIn(t, subject)
    const floods = await Promise.all(
      Array.from({ length: 20 }, () => guest.exec({ argv: ["/bin/sh", "-c", "yes & yes >&2"] })),
    )
    await eventually("all of them are full", () =>
      floods.every(({ stdout, stderr }) => stdout.readableLength > 65_536 && stderr.readableLength > 65_536),
    )
    for (let n = 0; n < ROUNDS; n += 1) {
      assert.equal((await run(neighbour, { argv: ["echo", "well"] })).stdout, "well\n")
      assert.equal((await run(guest, { argv: ["echo", "too"] })).stdout, "too\n")
    }
    const held = floods.reduce(
      (sum, { stdout, stderr }) => sum + stdout.readableLength + stderr.readableLength,
      0,
    )
    assert.ok(held < 40 * 400_000, `${held} bytes are held`)
  })
}

export const exhaustionTests = (subject: Subject): void => {
  processTests(subject)
  memoryTests(subject)
  diskTests(subject)
  processorTests(subject)
  floodTests(subject)
}
