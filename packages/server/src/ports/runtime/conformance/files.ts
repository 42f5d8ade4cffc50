import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { Readable } from "node:stream"
import { buffer, text } from "node:stream/consumers"
import { test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import type { Guest } from "../port.ts"
import { LIST, MiB, perl, rejectsAs, STAT, type Subject, shell, startIn, tooMuchFor } from "./fixture.ts"

const roots = ["/workspace", "/home/user", "/tmp"]

const contentOf = async (guest: Guest, path: string): Promise<string> =>
  text((await guest.readFile(path, roots)).bytes)

const plainTests = (subject: Subject): void => {
  test("a file is read as it was written, with its owner, mode and the directories above it", async t => {
    const { guest } = await startIn(t, subject)
    const bytes = randomBytes(3_000_000)
    await guest.writeFile("/workspace/a/b/file", Readable.from([bytes.subarray(0, 9), bytes.subarray(9)]), {
      roots,
      mode: 0o750,
    })
    const { stat, bytes: read } = await guest.readFile("/workspace/a/b/file", roots)
    assert.ok((await buffer(read)).equals(bytes))
    assert.deepEqual([stat.sizeBytes, stat.mode], [bytes.length, 0o750])
    assert.ok(stat.modifiedAt.getTime() > 1_700_000_000_000)
    assert.equal(
      (await shell(guest, `${STAT} a a/b a/b/file | cut -d' ' -f1`)).stdout,
      "1000:1000\n".repeat(3),
    )
    await guest.writeFile("/tmp/roots", Buffer.alloc(0), { roots, user: "root" })
    const owner = subject.runtime.capabilities.separatesRoot ? 0 : 1000
    assert.equal((await shell(guest, `${STAT} /tmp/roots`)).stdout, `${owner}:${owner} 644 0\n`)
  })

  test("what is not there is missing, and what is no file is refused", async t => {
    const { guest } = await startIn(t, subject)
    await shell(guest, "mkdir dir; mkfifo fifo; ln -s nowhere dangling; touch file")
    await rejectsAs("missing", () => guest.readFile("/workspace/none", roots))
    await rejectsAs("missing", () => guest.readFile("/workspace/dangling", roots))
    await rejectsAs("refused", () => guest.readFile("/workspace/dir", roots), "not_a_file")
    await rejectsAs("refused", () => guest.readFile("/workspace/fifo", roots), "not_a_file")
    await rejectsAs("refused", () => guest.readFile("/dev/zero", []), "not_a_file")
    const write = (path: string) => guest.writeFile(path, Buffer.from("x"), { roots })
    await rejectsAs("refused", () => write("/workspace/dir"), "not_a_file")
    await rejectsAs("refused", () => write("/workspace/file/below"), "not_a_file")
    await rejectsAs("refused", () => write("relative"))
    for (const name of ["n".repeat(256), `${"n".repeat(256)}/file`]) {
      await rejectsAs("refused", () => write(`/workspace/${name}`), "not_a_file")
      await rejectsAs("refused", () => guest.readFile(`/workspace/${name}`, roots), "not_a_file")
    }
    assert.equal((await shell(guest, `${LIST} dir; ${LIST} . | grep -c svc`)).stdout, "0\n")
  })

  test("who reads never sees half a file, and a source that breaks leaves the old one", async t => {
    const { guest } = await startIn(t, subject)
    await guest.writeFile("/workspace/file", Buffer.from("old"), { roots })
    const broken = async function* () {
      yield Buffer.alloc(500_000)
      throw new Error("the sender is gone")
    }
    await assert.rejects(
      guest.writeFile("/workspace/file", Readable.from(broken()), { roots }),
      /the sender is gone/,
    )
    assert.equal(await contentOf(guest, "/workspace/file"), "old")
    assert.equal((await shell(guest, `${LIST} .`)).stdout, "file\n")
  })

  test("a reader who stops early leaves the workload able to serve others", async t => {
    const { guest } = await startIn(t, subject)
    await shell(guest, "head -c 20000000 /dev/zero >big")
    for (let n = 0; n < 5; n += 1) {
      const { bytes } = await guest.readFile("/workspace/big", roots)
      await once(bytes, "readable")
      bytes.destroy()
    }
    assert.equal((await buffer((await guest.readFile("/workspace/big", roots)).bytes)).length, 20_000_000)
  })

  test("a full disk refuses a file, keeps the old one and leaves nothing half written", async t => {
    const { guest } = await startIn(t, subject, { disk: { kind: "memory", bytes: 4 * MiB } })
    await guest.writeFile("/workspace/file", Buffer.from("old"), { roots })
    const large = () => guest.writeFile("/workspace/file", Buffer.alloc(8 * MiB), { roots })
    await rejectsAs("refused", large, "no_space")
    assert.equal(await contentOf(guest, "/workspace/file"), "old")
    await guest.writeFile("/workspace/other", Buffer.alloc(MiB), { roots })
  })
}

const trickTests = (subject: Subject): void => {
  test("no link, no .. and no magic of /proc leads a read out of its roots", async t => {
    const { guest } = await startIn(t, subject)
    const plant =
      "ln -s /etc/passwd link; ln -s /etc dir; ln -s / up; ln -s ../etc/passwd rel; ln -s link twice;" +
      "ln -s /proc/self/root/etc/passwd magic; ln -s /proc/1/environ environ"
    await shell(guest, plant)
    for (const path of ["link", "dir/passwd", "up/etc/passwd", "rel", "twice", "up/workspace/../etc/passwd"])
      await rejectsAs("refused", () => guest.readFile(`/workspace/${path}`, roots), "outside")
    for (const path of ["magic", "environ"])
      await assert.rejects(guest.readFile(`/workspace/${path}`, roots), { kind: "refused" })
    for (const path of ["/etc/passwd", "/workspace/../etc/passwd", "/workspaces", "/"])
      await assert.rejects(guest.readFile(path, roots), { name: "PortError" })
    assert.match(await text((await guest.readFile("/etc/passwd", [])).bytes), /^root:/)
  })

  test("a link to another place within the roots is followed", async t => {
    const { guest } = await startIn(t, subject)
    await shell(
      guest,
      "mkdir real; echo text >real/file; ln -s real short; ln -s /workspace/real/file /tmp/absolute",
    )
    assert.equal(await contentOf(guest, "/workspace/short/file"), "text\n")
    assert.equal(await contentOf(guest, "/tmp/absolute"), "text\n")
  })

  test("no link leads a write out of its roots, and one in place of the file is replaced", async t => {
    const { guest } = await startIn(t, subject)
    await shell(
      guest,
      "ln -s /srv dir; ln -s /srv/made/by link; ln -s /etc/hosts hosts; chmod 777 /srv || true",
    )
    const write = (path: string) => guest.writeFile(path, Buffer.from("mine"), { roots })
    await rejectsAs("refused", () => write("/workspace/dir/file"), "outside")
    await rejectsAs("refused", () => write("/workspace/dir/deep/file"), "outside")
    await rejectsAs("refused", () => write("/workspace/../srv/file"), "outside")
    await assert.rejects(write("/workspace/link/file"), { name: "PortError" })
    await write("/workspace/hosts")
    assert.equal(await contentOf(guest, "/workspace/hosts"), "mine")
    assert.equal((await shell(guest, `${LIST} /srv; grep -c mine /etc/hosts`)).stdout, "0\n")
  })

  test("a directory that turns into a link while files are written leads none of them out", async t => {
    const tooMuch = tooMuchFor(subject)
    if (tooMuch !== undefined) return t.skip(tooMuch)
    const { guest } = await startIn(t, subject)
    const swap = `mkdir "d$_" for 1 .. 2; symlink "/srv", "l";
      while (1) { rename "d1", "spare"; rename "l", "d1"; rename "d1", "l"; rename "spare", "d1" }`
    const racer = await guest.exec({ argv: ["perl", "-e", swap] })
    const race = () =>
      Promise.allSettled(
        Array.from({ length: 200 }, (_, n) =>
          guest.writeFile(`/workspace/d1/file${n % 10}`, Buffer.from("mine"), { roots }),
        ),
      )
    // A processor may be with the writers from the first to the last, while there is just the link.
    await eventually("some are written", async () =>
      (await race()).some(({ status }) => status === "fulfilled"),
    )
    racer.kill("SIGKILL")
    await racer.exited
    assert.equal((await shell(guest, `${LIST} /srv`)).stdout, "")
  })
}

const connectionTests = (subject: Subject): void => {
  test("a port on the workload's loopback is reached, both ways and half closed", async t => {
    const { guest } = await startIn(t, subject)
    const echo = `use IO::Socket::INET; $| = 1;
      my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 8080) or die $!;
      print "up\\n"; while (my $c = $s->accept) { local $/; my $all = <$c>; print $c scalar reverse $all; close $c }`
    const server = await guest.exec({ argv: ["perl", "-e", echo] })
    await once(server.stdout, "data")
    for (const size of [5, 1_000_000]) {
      const sent = randomBytes(size)
      const connection = await guest.connect(8080)
      connection.end(sent)
      assert.ok((await buffer(connection)).equals(Buffer.from(sent).reverse()))
    }
    await rejectsAs("unavailable", () => guest.connect(8081))
    await Promise.all(Array.from({ length: 20 }, async () => (await guest.connect(8080)).destroy()))
    assert.equal((await perl(guest, "print 1")).stdout, "1")
  })
}

export const fileTests = (subject: Subject): void => {
  plainTests(subject)
  trickTests(subject)
  connectionTests(subject)
}
