/** Software that a workload with a disk of its own installs: the machine's programs are its own to change. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { type TestContext, test } from "node:test"
import type { Guest } from "../port.ts"
import { MiB, perl, type Subject, sharesKernel, shell, startIn } from "./fixture.ts"

const persistent = { disk: { kind: "persistent", bytes: 128 * MiB } } as const
const isRoot = process.getuid?.() === 0

const asRoot = async (guest: Guest, script: string): Promise<string> => {
  const { stdout, stderr } = await shell(guest, script, { user: "root", cwd: "/" })
  return `${stdout}${stderr}`
}

/** A test of what not all drivers can do on all machines. */
const testOf =
  (subject: Subject) =>
  (name: string, act: (t: TestContext) => Promise<void>): void =>
    void test(name, t =>
      subject.runtime.capabilities.installs ? act(t) : t.skip("programs are read-only here"),
    )

/** A package of one program, and the index of a repository that has it. */
const REPOSITORY = `set -e
  mkdir -p /srv/repo /tmp/p/DEBIAN /tmp/p/usr/bin /tmp/p/etc/probe
  printf 'Package: svc-probe\\nVersion: 1\\nArchitecture: all\\nMaintainer: A <a@example.com>\\nDescription: probe\\n' >/tmp/p/DEBIAN/control
  printf '#!/bin/sh\\necho installed\\n' >/tmp/p/usr/bin/svc-probe
  chmod 755 /tmp/p/usr/bin/svc-probe
  chown 6:12 /tmp/p/etc/probe
  dpkg-deb -b /tmp/p /srv/repo/probe.deb
  cd /srv/repo
  (cat /tmp/p/DEBIAN/control; echo Filename: ./probe.deb; echo Size: $(wc -c <probe.deb)
   echo SHA256: $(sha256sum probe.deb | cut -d' ' -f1)) >Packages
  rm -rf /etc/apt/sources.list /etc/apt/sources.list.d
  echo 'deb [trusted=yes] file:/srv/repo ./' >/etc/apt/sources.list
  apt-get update
  apt-get install -y svc-probe`

const keepTests = (subject: Subject): void => {
  test("what is installed in a computer is there after stop and start, or the driver says that it cannot be", async t => {
    const { runtime } = subject
    const { guest, spec } = await startIn(t, subject, persistent)
    if (!runtime.capabilities.installs) {
      assert.match(await asRoot(guest, "touch /usr/bin/mine && echo written; true"), /^(?!.*written)/s)
      return
    }
    const change =
      "echo 'echo mine' >/usr/bin/mine; chmod 755 /usr/bin/mine; rm /usr/bin/env; mkdir /data; chmod 700 /usr/bin/id"
    assert.equal(await asRoot(guest, `${change}; mine`), "mine\n")
    await runtime.stop(spec.id, 1_000)
    const again = await runtime.start(spec)
    const found = "mine; test -e /usr/bin/env || echo gone; test -d /data && echo data"
    assert.equal(await asRoot(again, found), "mine\ngone\ndata\n")
    assert.equal((await shell(again, "id || echo no; touch /usr/bin/x || echo no")).stdout, "no\nno\n")
    const { guest: other } = await startIn(t, subject, persistent)
    assert.equal(
      await asRoot(other, "test -e /usr/bin/env && echo env; test -e /usr/bin/mine || echo own"),
      "env\nown\n",
    )
    assert.deepEqual([existsSync("/usr/bin/env"), existsSync("/usr/bin/mine")], [true, false])
  })

  testOf(subject)("the machine's package manager installs, and knows what it has after a stop", async t => {
    if (!existsSync("/usr/bin/apt-get")) return t.skip("this machine has another package manager")
    if (subject.runtime.capabilities.isolation !== "process") return t.skip("its own kernel may not run it")
    const { guest, spec } = await startIn(t, subject, { ...persistent, memoryBytes: 512 * MiB })
    const said = await asRoot(guest, REPOSITORY)
    assert.equal(await asRoot(guest, "svc-probe; stat -c %u:%g /etc/probe"), "installed\n6:12\n", said)
    await subject.runtime.stop(spec.id, 1_000)
    const again = await subject.runtime.start(spec)
    assert.match(
      await asRoot(again, "svc-probe; dpkg -s svc-probe"),
      /^installed\n.*Status: install ok installed/s,
    )
    assert.equal(await asRoot(again, "adduser --system --quiet probe; id -un probe"), "probe\n")
  })

  testOf(subject)("what is installed counts on the size of the disk", async t => {
    if (!subject.runtime.capabilities.limits.disk) return t.skip("disks are not kept to their size")
    const { guest } = await startIn(t, subject, persistent)
    assert.match(await asRoot(guest, "dd if=/dev/zero of=/usr/lib/big bs=1M count=256"), /No space left/)
    assert.equal(await asRoot(guest, "rm /usr/lib/big; echo on"), "on\n")
  })
}

const escapeTests = (subject: Subject): void => {
  const test = testOf(subject)
  test("what of the machine is its root's alone is so for the root of a computer", async t => {
    if (!isRoot) return t.skip("it takes root to have such a file")
    const place = `/usr/local/svc-test-${randomUUID()}`
    t.after(() => rm(place, { recursive: true, force: true }))
    await mkdir(place)
    await writeFile(`${place}/secret`, "secret-4714", { mode: 0o600 })
    const { guest } = await startIn(t, subject, persistent)
    // The kernel reads it live: what is put there while a computer runs is closed too.
    await mkdir(`${place}/closed`, { mode: 0o700 })
    await writeFile(`${place}/closed/secret`, "secret-4715", { mode: 0o644 })
    const attacks = [
      `cat ${place}/secret ${place}/closed/secret`,
      `chmod 644 ${place}/secret; chmod 755 ${place}/closed; cat ${place}/secret ${place}/closed/secret`,
      `chown root ${place}/secret; cp ${place}/secret /tmp/a; cat /tmp/a`,
      `ln ${place}/secret /usr/local/b; cat /usr/local/b; mv ${place}/secret /usr/local/c; cat /usr/local/c`,
      `mv ${place}/closed /usr/local/d; cat /usr/local/d/secret`,
      `exec 3>>${place}/secret; cat ${place}/secret`,
      "grep -r secret-471 /.svc /lost+found /etc/shadow",
    ]
    for (const attack of attacks) assert.doesNotMatch(await asRoot(guest, attack), /secret-471\d/, attack)
  })

  test("no file that a computer makes among the machine's programs gives rights, and no layer can be forged", async t => {
    const { guest, spec } = await startIn(t, subject, persistent)
    await asRoot(guest, "cp /usr/bin/id /usr/bin/suid; chmod 4755 /usr/bin/suid")
    assert.equal((await shell(guest, "/usr/bin/suid -u")).stdout, "1000\n")
    const attacks = [
      "mknod /usr/m c 1 1 && head -c1 /usr/m",
      "mknod /usr/b b 7 0 && head -c1 /usr/b",
      "mknod /usr/bin/white c 0 0 && test -c /usr/bin/white",
      "setfattr -n trusted.overlay.opaque -v y /usr/bin",
      "setfattr -n trusted.overlay.redirect -v /../../etc /usr/bin",
      "mount -o remount,suid,dev /usr",
      "umount /usr",
      "umount /.svc",
      "mv /usr /usr2",
      "mv /.svc /svc",
      "touch /.svc/x",
      "mv /proc /proc2",
    ]
    for (const attack of attacks)
      assert.doesNotMatch(await asRoot(guest, `(${attack}) && echo succeeded; true`), /succeeded/, attack)
    if (sharesKernel(subject)) {
      const { stdout } = await shell(guest, "cat /proc/self/mountinfo")
      assert.doesNotMatch(stdout, /workloads|upperdir=\//)
    }
    assert.ok((await subject.runtime.list()).includes(spec.id))
  })

  test("links that a computer leaves in place of its folders lead nobody out, and it starts", async t => {
    const { guest, spec } = await startIn(t, subject, persistent)
    const plant = `rmdir /srv; ln -s /usr /srv; rm -rf /var/cache; ln -s /etc /var/cache; mv /opt /opt2; ln -s / /opt;
      rm -rf /home/user; ln -s /root /home/user; mv /etc/ssl /etc/ssl2; ln -s / /etc/ssl; rm /bin; ln -s usr/bin /bin; echo up`
    assert.equal(await asRoot(guest, plant), "up\n")
    await subject.runtime.stop(spec.id, 0)
    assert.equal(await asRoot(await subject.runtime.start(spec), "echo up"), "up\n")
    // It has lost its package manager's records, and nothing else.
    const { guest: other, spec: another } = await startIn(t, subject, persistent)
    assert.equal(
      await asRoot(other, "mv /var /var2; ln -s /var2 /var; mv /etc /etc2; ln -s etc2 /etc; echo up"),
      "up\n",
    )
    await subject.runtime.stop(another.id, 0)
    const again = await subject.runtime.start(another)
    assert.equal((await perl(again, 'print "up"', { user: "root", cwd: "/" })).stdout, "up")
  })
}

export const installTests = (subject: Subject): void => {
  keepTests(subject)
  escapeTests(subject)
}
