/** Ways out of a workload, tried from inside, by its user and by its root. */
import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import type { Guest, GuestUser } from "../port.ts"
import { LIST, perl, rejectsAs, type Subject, sharesKernel, shell, startIn } from "./fixture.ts"

const users: readonly GuestUser[] = ["user", "root"]

/** Those where what is shown of it is what we leave. */
const narrows = (subject: Subject) => sharesKernel(subject) && subject.runtime.capabilities.narrowsKernelFiles

const ofThisKernel = [
  ...["dmesg", "echo -1000 >/proc/self/oom_score_adj", "echo 1 >/proc/sys/net/ipv4/ip_forward"],
]
/** What container runtimes show of it, with nothing of others in it. */
const ofItsFiles = [`${LIST} /sys/kernel`, `${LIST} /sys/fs/cgroup`]
const ofAnyKernel = ["kallsyms", "config.gz", "iomem"].map(name => `head -c1 /proc/${name} | grep -q .`)

/** What of a list of scripts succeeds; none should. */
const successes = async (
  guest: Guest,
  user: GuestUser,
  scripts: readonly string[],
): Promise<readonly string[]> => {
  const tried = await Promise.all(
    scripts.map(async script => ((await shell(guest, script, { user })).code === 0 ? script : [])),
  )
  return tried.flat()
}

const neighbourTests = (subject: Subject): void => {
  test("nobody sees the processes, environments or files of the machine, the platform or a neighbour", async t => {
    process.env.PLATFORM_SECRET = "platform-secret-4711"
    t.after(() => delete process.env.PLATFORM_SECRET)
    const { guest } = await startIn(t, subject)
    const { guest: neighbour } = await startIn(t, subject)
    const secret = { TOKEN: "neighbour-secret-4712" }
    await neighbour.exec({ argv: ["sleep", "1000"], env: secret })
    await neighbour.writeFile("/workspace/secret", Buffer.from("neighbour-secret-4713"), { roots: [] })
    for (const user of users) {
      const everything = await shell(
        guest,
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /workspace/* /proc/*/root/workspace/* 2>/dev/null; env",
        { user },
      )
      assert.doesNotMatch(everything.stdout, /secret/)
      const { stdout } = await shell(guest, `${LIST} /proc | grep -c '^[0-9]'`, { user })
      assert.ok(Number(stdout) < 12, `${user} sees ${stdout} processes`)
      const cwd = process.cwd()
      assert.deepEqual(
        await successes(guest, user, [
          `${LIST} ${cwd}`,
          `${LIST} /proc/1/root${cwd}`,
          `${LIST} /var/lib/dpkg`,
        ]),
        [],
      )
    }
  })

  test("the list of mounts tells nothing of where the platform keeps its files", async t => {
    if (!narrows(subject)) return t.skip("it is of another kernel, or of a container runtime")
    const { guest } = await startIn(t, subject)
    for (const user of users) {
      const { stdout } = await shell(guest, "cat /proc/self/mountinfo /proc/self/mounts", { user })
      assert.match(stdout, /proc/)
      for (const place of [tmpdir(), process.cwd()])
        assert.ok(!stdout.split(/[ ,=:]/).some(word => word.startsWith(`${place}/`)), stdout)
    }
  })

  test("a command finds no descriptors but its three", async t => {
    const { guest } = await startIn(t, subject)
    const list = 'opendir my $d, "/proc/self/fd"; print join " ", sort grep { /^\\d+$/ } readdir $d'
    // The fourth is the directory that it lists.
    for (const user of users) assert.equal((await perl(guest, list, { user })).stdout, "0 1 2 3")
  })

  test("the agent cannot be read, traced, stopped or ended", async t => {
    const { separatesRoot } = subject.runtime.capabilities
    const { guest, spec } = await startIn(t, subject)
    const attacks = [
      ...[
        // What it was started with it has cleared.
        "tr -d '\\0 ' </proc/1/environ | grep -q .",
        "head -c1 /proc/1/mem",
        "readlink /proc/1/exe",
        "head -c0 /proc/1/fd/0",
        ": >/proc/1/fd/1",
      ],
      ...[`${LIST} /proc/1/root/`, `${LIST} /proc/1/cwd/`, "kill -9 1 && sleep 0.3 && ! kill -0 1"],
      // Where a kernel is its own, what lies where in it is nobody else's.
      ...(sharesKernel(subject) ? ["cat /proc/1/maps"] : []),
      // Where all are one user, numbers show that lead nowhere.
      ...(narrows(subject) && separatesRoot ? [`${LIST} /proc/1/fd`] : []),
    ]
    for (const user of users) {
      assert.deepEqual(await successes(guest, user, attacks), [])
      // PTRACE_ATTACH and PTRACE_SEIZE, by the numbers of this machine.
      const trace = `my $n = ${process.arch === "arm64" ? 117 : 101};
        exit(syscall($n, 16, 1, 0, 0) == 0 || syscall($n, 0x4206, 1, 0, 0) == 0 ? 0 : 1)`
      assert.equal((await perl(guest, trace, { user })).code, 1)
      await shell(guest, "kill -STOP 1; kill -KILL 1; kill -KILL -1", { user })
    }
    assert.equal(subject.runtime.running(spec.id), guest)
    assert.equal((await shell(guest, "echo alive")).stdout, "alive\n")
  })
}

const kernelTests = (subject: Subject): void => {
  test("nothing can be mounted, and no namespace entered or made", async t => {
    const { guest } = await startIn(t, subject)
    const attacks = [
      ...["mount -t tmpfs x /mnt", "mount -t proc x /mnt", "mount --bind / /mnt", "mount -o remount,rw /usr"],
      ...["mount -o remount,rw /", "umount /proc/sys", "umount /proc", "mount -t cgroup -o memory x /mnt"],
      ...["unshare -m true", "unshare -Ur true", "unshare -n true", "unshare -p true", "unshare -C true"],
      ...[
        "nsenter -t 1 -m true",
        "nsenter -t 1 -a true",
        "chroot / true",
        "pivot_root / /mnt",
        "swapon /tmp/x",
      ],
    ]
    for (const user of users) assert.deepEqual(await successes(guest, user, attacks), [])
  })

  test("kernel interfaces do not answer: settings, memory, messages, keys, modules, time", async t => {
    const { guest } = await startIn(t, subject)
    const files = ["kernel/core_pattern", "kernel/modprobe", "vm/drop_caches", "kernel/hostname"]
    const attacks = [
      ...files.map(file => `echo 1 >/proc/sys/${file}`),
      ...["head -c1 /proc/kcore | grep -q .", "head -c1 /proc/keys | grep -q ."],
      ...["head -c1 /proc/kmsg | grep -q .", "dmesg -C", "modprobe dummy"],
      "date -s 2000-01-01",
      ...["hostname other", "cat /proc/self/cgroup | grep -q svc"],
      ...["test ! -c /proc/sysrq-trigger && echo h >/proc/sysrq-trigger"],
      ...(sharesKernel(subject) ? ofThisKernel : []),
      ...(narrows(subject) ? ofItsFiles : []),
      ...(subject.runtime.capabilities.narrowsKernelFiles ? ofAnyKernel : []),
    ]
    for (const user of users) assert.deepEqual(await successes(guest, user, attacks), [])
  })

  test("system calls into undivided parts of the kernel fail", async t => {
    const { guest } = await startIn(t, subject)
    const calls =
      process.arch === "arm64"
        ? [280, 282, 241, 219, 217, 425, 265, 104]
        : [321, 323, 298, 250, 248, 425, 304, 246]
    // bpf userfaultfd perf_event_open keyctl add_key io_uring_setup open_by_handle_at kexec_load
    const program = `my @open = grep { my $z = "\\0" x 256; syscall($_, 1, $z, 64, 0, 0) >= 0 } ${calls.join()}; print "@open"`
    // AF_PACKET AF_ALG AF_VSOCK AF_BLUETOOTH AF_KEY AF_XDP, and raw AF_INET
    const sockets = `my @open = grep { socket my $s, $_, 3, 0 } 17, 38, 40, 31, 15, 44, 2; print "@open"`
    for (const user of users) {
      assert.equal((await perl(guest, program, { user })).stdout, "")
      assert.equal((await perl(guest, sockets, { user })).stdout, "")
    }
  })

  test("there are no devices but harmless ones, and none can be made", async t => {
    const { guest } = await startIn(t, subject)
    const listed = await shell(guest, "find /dev -type b; find /dev -type c | sort | tr '\\n' ' '", {
      user: "root",
    })
    const harmless = sharesKernel(subject)
      ? /^(\/dev\/(full|null|ptmx|pts\/ptmx|pts\/\d+|random|tty|urandom|zero) )*$/
      : /^(\/dev\/(full|fuse|net\/tun|null|ptmx|pts\/ptmx|pts\/\d+|random|tty|urandom|zero) )*$/
    assert.match(listed.stdout, harmless)
    const attacks = [
      "mknod /tmp/d b 254 0",
      "mknod /tmp/d c 1 1",
      "mknod /dev/mem c 1 1; head -c1 /dev/mem",
      "mknod /tmp/loop b 7 0; head -c1 /tmp/loop",
      ...(sharesKernel(subject) ? ["mknod /dev/mem c 1 1"] : []),
      ...(narrows(subject) ? ["chmod 600 /dev/null"] : []),
    ]
    for (const user of users) assert.deepEqual(await successes(guest, user, attacks), [])
  })

  test("programs of the machine cannot be changed, and setting a user id gives nobody anything", async t => {
    const { guest } = await startIn(t, subject)
    const attacks = [
      "touch /usr/bin/x",
      "echo x >>/bin/sh",
      "rm /usr/bin/perl",
      "mv /usr/bin /usr/bin2",
      "touch /.svc/x",
    ]
    for (const user of users) assert.deepEqual(await successes(guest, user, attacks), [])
    await shell(guest, "cp /usr/bin/id /tmp/id && chmod 4755 /tmp/id", { user: "root" })
    assert.equal(
      (await shell(guest, "/tmp/id -u; su -c id root </dev/null; sudo -n id")).stdout.trim(),
      "1000",
    )
    const { stdout } = await shell(
      guest,
      "grep -E '^(CapEff|CapPrm)' /proc/self/status | cut -f2 | tr '\\n' ' '",
    )
    assert.equal(stdout, "0000000000000000 0000000000000000 ")
    // PR_GET_NO_NEW_PRIVS
    const told = await perl(guest, `print syscall ${process.arch === "arm64" ? 167 : 157}, 39, 0, 0, 0, 0`)
    assert.equal(told.stdout, "1")
  })
}

const networkTests = (subject: Subject): void => {
  test("the host's loopback, its addresses and the metadata service are out of reach", async t => {
    const server = createServer(socket => socket.end("host")).listen(0, "0.0.0.0")
    t.after(() => server.close())
    await once(server, "listening")
    const address = server.address()
    assert.ok(address && typeof address === "object")
    const { guest } = await startIn(t, subject)
    const { guest: neighbour } = await startIn(t, subject)
    const listen = `use IO::Socket::INET; my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "0.0.0.0",
      LocalPort => 9999) or die; $| = 1; print "up"; sleep 1000`
    await once((await neighbour.exec({ argv: ["perl", "-e", listen] })).stdout, "data")
    const reach = `use IO::Socket::INET; for (@ARGV) {
      print "$_ " if IO::Socket::INET->new(PeerAddr => $_, Timeout => 2) }`
    const targets = [
      `127.0.0.1:${address.port}`,
      "127.0.0.1:9999",
      "169.254.169.254:80",
      `10.0.0.1:${address.port}`,
    ]
    for (const user of users) {
      const command = { argv: ["perl", "-e", reach, ...targets] as const, user }
      const connector = await guest.exec(command)
      connector.stdout.setEncoding("utf8")
      let reached = ""
      for await (const part of connector.stdout) reached += part
      assert.equal(reached, "")
    }
    await rejectsAs("unavailable", () => guest.connect(address.port))
    await rejectsAs("unavailable", () => guest.connect(9999))
  })
}

const folderIn = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-mount-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const mountTests = (subject: Subject): void => {
  test("a mounted directory is seen as it is now, can run programs and cannot be written", async t => {
    if (!subject.runtime.capabilities.mounts)
      return t.skip("the driver mounts no directories of this machine")
    const hidden = await folderIn(t)
    const source = join(hidden, "code")
    await mkdir(source, { mode: 0o755 })
    const mounts = [
      { source, target: "/var/task/deep" },
      { source, target: "/opt/code" },
    ]
    const { guest } = await startIn(t, subject, { mounts })
    await writeFile(join(source, "program"), "#!/bin/sh\necho runs\n", { mode: 0o755 })
    assert.equal((await shell(guest, "/var/task/deep/program; /opt/code/program")).stdout, "runs\nruns\n")
    for (const user of users)
      assert.deepEqual(await successes(guest, user, ["touch /opt/code/x", "rm /opt/code/program"]), [])
  })

  test("a link that a workload left on its disk does not move what is mounted later", async t => {
    const source = await folderIn(t)
    const { guest, spec } = await startIn(t, subject, { disk: { kind: "persistent", bytes: 32 * 2 ** 20 } })
    const plant =
      "rm -rf /var/cache /home/user /etc/ssl; ln -s /usr /opt/link; ln -s /usr /var/cache; ln -s / /etc/ssl"
    await shell(guest, `${plant}; rm -rf /etc/hostname; ln -s /usr/bin/sh /etc/hostname`, { user: "root" })
    await subject.runtime.stop(spec.id, 0)
    const mounts = [{ source, target: "/opt/link/lib" }]
    // Refused for the link, or for there being none at all.
    await assert.rejects(subject.runtime.start({ ...spec, mounts }), { name: "PortError" })
    const again = await subject.runtime.start(spec)
    assert.equal((await shell(again, "echo up", { cwd: "/" })).stdout, "up\n")
  })
}

export const escapeTests = (subject: Subject): void => {
  neighbourTests(subject)
  kernelTests(subject)
  networkTests(subject)
  mountTests(subject)
}
