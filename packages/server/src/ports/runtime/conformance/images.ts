/** Workloads that begin as images. The image is a stranger's, and so is what a workload leaves on its disk. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, type TestContext, test } from "node:test"
import { promisify } from "node:util"
import { PortError } from "../../port-error.ts"
import type { Guest, Root } from "../port.ts"
import { makeBusyboxRoot, withoutBusybox } from "../testing/busybox.ts"
import { MiB, persistent, rejectsAs, type Subject, shell, specOf, startIn } from "./fixture.ts"

type ImageRoot = Extract<Root, { readonly kind: "image" }>

const isRoot = process.getuid?.() === 0

/** The names below a directory, with what they lead to. */
const listing = async (directory: string): Promise<readonly string[]> =>
  [...(await readdir(directory, { recursive: true }))].sort()

const out = async (guest: Guest, script: string, user: "user" | "root" = "root"): Promise<string> => {
  const { stdout, stderr } = await shell(guest, script, { user, cwd: "/" })
  return `${stdout}${stderr}`
}

/** A test of what not all drivers have on all machines. */
const testOf =
  (subject: Subject) =>
  (name: string, act: (t: TestContext) => Promise<void>): void =>
    void test(name, t =>
      subject.runtime.capabilities.roots.includes("image") ? act(t) : t.skip("the driver has no images here"),
    )

const lifeTests = (subject: Subject, root: () => ImageRoot): void => {
  const test = testOf(subject)
  test("a workload begins as its image and may change all of it; the image stays as it is", async t => {
    const before = await listing(root().directory)
    const { guest } = await startIn(t, subject, { root: root() })
    assert.equal(await out(guest, "cat /etc/motd; busybox | head -n1 | cut -d' ' -f1"), "an image\nBusyBox\n")
    const change = "rm /etc/motd && mkdir /usr/new && echo x >/new && mv /bin/awk /bin/awk2 && ls /new"
    assert.equal(await out(guest, change), "/new\n")
    if (subject.runtime.capabilities.separatesRoot)
      assert.match(await out(guest, "touch /usr/mine || echo no", "user"), /^no\n.*denied\n$/)
    const { guest: other } = await startIn(t, subject, { root: root() })
    assert.equal(
      await out(other, "cat /etc/motd; ls /new"),
      "an image\nls: /new: No such file or directory\n",
    )
    assert.deepEqual(await listing(root().directory), before)
  })

  test("its user has a name, a home and a place to work, whatever the image calls him", async t => {
    const { guest } = await startIn(t, subject, { root: root() })
    const { stdout } = await shell(
      guest,
      "id -un; pwd; echo $HOME; touch /workspace/a ~/b /tmp/c && hostname; cat /etc/hostname; grep -c node /etc/passwd",
    )
    assert.equal(stdout, "user\n/workspace\n/home/user\nbox\nbox\n1\n")
    assert.equal(
      await out(guest, "id -un; ping -c1 localhost 2>&1 | head -n1; stat -c %u /bin"),
      "root\nPING localhost (127.0.0.1): 56 data bytes\n0\n",
    )
  })

  test("what was written, replaced and removed is so after a stop and a start", async t => {
    const { guest, spec } = await startIn(t, subject, { root: root(), ...persistent })
    await out(guest, "rm /etc/motd; echo kept >/usr/kept; echo own >/etc/hosts; chown 7:8 /usr/kept")
    await subject.runtime.stop(spec.id, 0)
    const again = await subject.runtime.start(spec)
    assert.equal(
      await out(again, "cat /usr/kept /etc/hosts; stat -c %u:%g /usr/kept; ls /etc/motd"),
      `kept\nown\n${isRoot ? "7:8" : "0:0"}\nls: /etc/motd: No such file or directory\n`,
    )
  })

  test("its disk has its size, and is used for nothing but what is written", async t => {
    const { runtime } = subject
    const { guest, spec } = await startIn(t, subject, {
      root: root(),
      disk: { kind: "memory", bytes: 16 * MiB },
    })
    assert.ok((await runtime.stats(spec.id)).diskBytes < MiB)
    assert.match(
      await out(guest, "dd if=/dev/zero of=/usr/big bs=1M count=64 2>&1 | tail -n1; rm /usr/big; echo on"),
      /on\n$/,
    )
    assert.match(await out(guest, "dd if=/dev/zero of=/big bs=1M count=64"), /No space left/)
  })

  test("files and mounted directories are where they should be, also where the image has nothing", async t => {
    const source = await mkdtemp(join(tmpdir(), "svc-mount-"))
    t.after(() => rm(source, { recursive: true, force: true }))
    await chmod(source, 0o755)
    const { guest } = await startIn(t, subject, { root: root(), mounts: [{ source, target: "/opt/a/code" }] })
    await writeFile(join(source, "file"), "live\n")
    await guest.writeFile("/workspace/deep/file", Buffer.from("mine\n"), {
      roots: ["/workspace"],
      user: "user",
    })
    assert.equal(
      await out(guest, "cat /opt/a/code/file /workspace/deep/file; touch /opt/a/code/x || echo no"),
      "live\nmine\nno\ntouch: /opt/a/code/x: Read-only file system\n",
    )
    await out(guest, "ln -s /etc /workspace/etc")
    await rejectsAs("refused", () => guest.readFile("/workspace/etc/motd", ["/workspace"]), "outside")
  })
}

const linkedDirectories = [
  "dev",
  "proc",
  "run",
  "etc",
  "tmp",
  "home",
  "workspace",
  ".svc",
  "var",
  "sys",
  "root",
]

/** A copy of the image that a stranger has changed. */
const hostile = async (t: TestContext, of: string, change: (at: string) => Promise<unknown>) => {
  const parent = await mkdtemp(join(tmpdir(), "svc-hostile-"))
  t.after(() => rm(parent, { recursive: true, force: true }))
  const directory = join(parent, "root")
  await promisify(execFile)("cp", ["-a", of, directory])
  await change(directory)
  return { kind: "image", directory } as const
}

const escapeTests = (subject: Subject, root: () => ImageRoot): void => {
  const test = testOf(subject)
  test("an image whose directories are links leads nobody out: it does not start, or what it names is its own", async t => {
    const outside = await mkdtemp(join(tmpdir(), "svc-outside-"))
    t.after(() => rm(outside, { recursive: true, force: true }))
    await writeFile(join(outside, "passwd"), "stranger:x:4711:4711::/:/bin/sh\n")
    const tryOne = async (name: string) => {
      const image = await hostile(t, root().directory, async at => {
        await rm(join(at, name), { recursive: true, force: true })
        await symlink(outside, join(at, name))
      })
      // What stays is looked at again; making a disk takes longer than all the rest.
      const isKept = name === "etc" || name === "tmp"
      const spec = specOf({ root: image, ...(isKept && persistent) })
      t.after(() => subject.runtime.destroy(spec.id))
      try {
        const guest = await subject.runtime.start(spec)
        await out(guest, `touch /${name}/x ${outside}/y; mkdir -p ${outside}; touch ${outside}/z`)
        assert.doesNotMatch(await out(guest, "cat /etc/passwd"), /stranger/)
        if (!isKept) return
        await subject.runtime.stop(spec.id, 0)
        await subject.runtime.start(spec)
      } catch (error) {
        assert.ok(error instanceof PortError, String(error))
      }
    }
    await Promise.all(linkedDirectories.map(tryOne))
    assert.deepEqual(await readdir(outside), ["passwd"])
  })

  test("a file of users that is a link, a pipe or too long neither leads out nor holds anybody up", async t => {
    const outside = join(await mkdtemp(join(tmpdir(), "svc-outside-")), "secret")
    t.after(() => rm(join(outside, ".."), { recursive: true, force: true }))
    await writeFile(outside, "stranger:x:4711:4711::/:/bin/sh\n")
    const changes: ((path: string) => Promise<unknown>)[] = [
      path => symlink(outside, path),
      path => symlink(`../../../../../../../..${outside}`, path),
      path => symlink("/proc/1/environ", path),
      path => symlink("passwd", path),
      path => promisify(execFile)("mkfifo", [path]),
      path => writeFile(path, "x".repeat(2 * MiB)),
      path => mkdir(path),
    ]
    const tryOne = async (change: (path: string) => Promise<unknown>) => {
      const image = await hostile(t, root().directory, async at => {
        await rm(join(at, "etc", "passwd"))
        await change(join(at, "etc", "passwd"))
      })
      const { guest } = await startIn(t, subject, { root: image })
      assert.doesNotMatch(await out(guest, "cat /etc/passwd; env"), /stranger/)
    }
    await Promise.all(changes.map(tryOne))
    assert.equal(await readFile(outside, "utf8"), "stranger:x:4711:4711::/:/bin/sh\n")
  })

  test("devices and set-user-id files of an image give nobody anything, and a file that is its owner's alone is his and root's", async t => {
    if (!isRoot) return t.skip("making them takes root")
    const image = await hostile(t, root().directory, async at => {
      await promisify(execFile)("mknod", [join(at, "disk"), "b", "7", "0"])
      await promisify(execFile)("mknod", [join(at, "memory"), "c", "1", "1"])
      await mkdir(join(at, "suid"))
      await promisify(execFile)("cp", [join(at, "bin", "busybox"), join(at, "suid", "id")])
      await chmod(join(at, "suid", "id"), 0o4755)
      await chown(join(at, "etc", "motd"), 4711, 4712)
      await chmod(join(at, "etc", "motd"), 0o600)
      await mkdir(join(at, "own"), { mode: 0o700 })
      await writeFile(join(at, "own", "file"), "his\n")
      await chown(join(at, "own"), 1000, 1000)
    })
    const { guest } = await startIn(t, subject, { root: image })
    for (const user of ["user", "root"] as const)
      assert.match(
        await out(guest, "head -c1 /disk; head -c1 /memory", user),
        /^(head: .*(denied|not permitted|No such device.*)\n){2}$/,
      )
    assert.equal(await out(guest, "/suid/id -u", "user"), "1000\n")
    assert.match(await out(guest, "cat /own/file /etc/motd", "user"), /^his\ncat: .*denied\n$/)
    assert.equal(await out(guest, "cat /own/file /etc/motd"), "his\nan image\n")
    assert.equal(
      await out(guest, "stat -c %u:%g /etc/motd; chown 1:1 /etc/motd; stat -c %u:%g /etc/motd"),
      "4711:4712\n1:1\n",
    )
  })

  test("nothing of the machine is seen in a workload from an image, and nothing of how it is made can be changed", async t => {
    const { guest } = await startIn(t, subject, { root: root(), ...persistent })
    const cwd = process.cwd()
    const isShared = ["process", "container"].includes(subject.runtime.capabilities.isolation)
    for (const user of ["user", "root"] as const) {
      const seen = await out(
        guest,
        `cat /proc/mounts /proc/1/mountinfo /proc/[0-9]*/environ 2>/dev/null; ls ${cwd} /proc/1/root/ 2>/dev/null`,
        user,
      )
      assert.ok(!seen.includes(root().directory), seen)
      // Where an agent has programs of its own, it tells where they are kept.
      assert.doesNotMatch(seen.replace(/^.* \/\.svc\/agent .*$/gm, ""), /workloads|package\.json/)
      const attacks = [
        "mount -t tmpfs x /mnt",
        "mount -o remount,rw /proc/sys",
        "umount /proc",
        "umount /dev",
        "mount -t overlay x -o lowerdir=/ /mnt",
        "mknod /n c 1 1",
        "mknod /n b 7 0",
        "mknod /etc/motd2 c 0 0",
        "setfattr -n trusted.overlay.opaque -v y /usr",
        "chroot / true",
        "echo 1 >/proc/sys/vm/drop_caches",
        "rmdir /dev",
        "mv /proc /proc2",
        ...(isShared ? ["ls /sys/kernel"] : []),
      ]
      for (const attack of attacks)
        assert.match(await out(guest, `${attack} && echo succeeded; true`, user), /^(?!.*succeeded)/s, attack)
    }
    await assert.rejects(lstat(join(root().directory, "n")))
  })
}

export const imageTests = (subject: Subject): void => {
  if (withoutBusybox) return void test("workloads from images", { skip: withoutBusybox }, () => undefined)
  let directory = ""
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "svc-image-"))
    await makeBusyboxRoot(directory)
  })
  after(() => rm(directory, { recursive: true, force: true }))
  const root = () => ({ kind: "image", directory }) as const
  lifeTests(subject, root)
  escapeTests(subject, root)
}
