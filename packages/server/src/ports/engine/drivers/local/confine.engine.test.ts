import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { before, describe, type TestContext, test } from "node:test"
import { postgresProcessesOf } from "../../../../kernel/db/embedded/processes.ts"
import { atEnd, isRoot, nobody } from "../../../../kernel/db/embedded/testing/directories.ts"
import { eventually } from "../../../../testing/eventually.ts"
import { pgVersions } from "../../port.ts"
import { type Confinement, detectConfinement } from "./confine/detect.ts"
import {
  type Instance,
  type Machine,
  makeMachine,
  makeTemplate,
  runProgram,
  runSql,
  startInstance,
} from "./confine/testing/instances.ts"

const log = () => undefined
const NO_SUCH_USERS = 2 ** 32 - 10

const methods = [
  { isolation: "user", uidBase: 200_000, processesMax: 120 },
  { isolation: "namespace", uidBase: NO_SUCH_USERS, processesMax: 120 },
] as const

interface Scene {
  readonly confinement: Confinement
  readonly machine: Machine
  readonly attacker: Instance
  readonly victim: Instance
}

const perl = (script: string, ...args: readonly (string | number)[]): string =>
  `perl -e '${script}' ${args.map(arg => `'${arg}'`).join(" ")}`

/** Prints `connected` or the reason; an attempt that nobody answers ends by an alarm. */
const connectUnix =
  'use Socket; $a = $ARGV[0]; $a =~ s/^@/\\0/; socket(S, AF_UNIX, SOCK_STREAM, 0) or die "$!"; ' +
  'print connect(S, pack_sockaddr_un($a)) ? "connected" : "refused $!"'
const connectTcp =
  'use Socket; alarm 5; socket(S, AF_INET, SOCK_STREAM, 0) or die "$!"; ' +
  'print connect(S, pack_sockaddr_in($ARGV[1], inet_aton($ARGV[0]))) ? "connected" : "refused $!"'
const findSegment = 'print defined shmget($ARGV[0], 0, 0) ? "found" : "refused $!"'
/** The creator of each PostgreSQL segment in reach; its process id is the second number of the segment. */
const segmentCreators = 'for (0 .. 200) { print unpack("x4 l", $b), "\\n" if shmread($_, $b, 0, 8) }'
/** Has as many children at a time as the kernel allows, at most 400; they end with the parent's end of the pipe. */
const forkBomb =
  "pipe(R, W); for (1 .. 400) { $p = fork; last unless defined $p; if (!$p) { close W; <R>; exit } $n++ } " +
  'print "children $n $!\\n"; close W; 1 while wait > 0'

const segmentOf = ({ dataDir }: Instance): { key: string } => {
  const [key = ""] = (readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n")[6] ?? "")
    .trim()
    .split(/\s+/)
  return { key }
}

const statusOf = (pid: number, field: string): string =>
  new RegExp(`^${field}:\\s*(.*)$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? ""

const REFUSED = /^refused|Permission denied|No such file|not permitted|Read-only|exit [1-9]/

const filesStayClosed = async ({ machine, attacker, victim }: Scene): Promise<void> => {
  const own = join(attacker.dataDir, "PG_VERSION")
  assert.match(await runSql(attacker, "SELECT pg_read_file($1)", [own]), /^done/)
  assert.match(await runProgram(attacker, `cat ${own}`), /exit 0$/)

  const targets = [
    join(victim.dataDir, "PG_VERSION"),
    join(victim.dataDir, "base/1/PG_VERSION"),
    machine.secretFile,
    ...[victim.server.pid, process.pid].flatMap(pid =>
      ["environ", "mem", "maps", "root/etc/passwd", "cwd/PG_VERSION"].map(name => `/proc/${pid}/${name}`),
    ),
  ]
  for (const target of targets) {
    assert.match(await runSql(attacker, "SELECT pg_read_binary_file($1, 0, 1)", [target]), /^refused/, target)
    assert.match(await runProgram(attacker, `head -c 1 ${target}`), REFUSED, target)
    await attacker.client.query("CREATE TEMP TABLE IF NOT EXISTS stolen (line text)")
    assert.match(await runSql(attacker, `COPY stolen FROM '${target}'`), /^refused/, target)
  }
  for (const directory of [victim.dataDir, victim.volumeDir, victim.socketDir])
    assert.match(await runSql(attacker, "SELECT pg_ls_dir($1)", [directory]), /^refused/, directory)
  const seen = await runSql(attacker, "SELECT pg_ls_dir($1) AS name", [machine.platformDir])
  assert.doesNotMatch(seen, /master/)
}

const nothingIsWritten = async ({ machine, attacker, victim }: Scene): Promise<void> => {
  const name = `svc-written-${randomUUID()}`
  for (const directory of [victim.dataDir, victim.socketDir, "/etc", "/usr/bin", "/var/lib"]) {
    assert.match(await runProgram(attacker, `touch ${directory}/${name}`), REFUSED, directory)
    assert.ok(!existsSync(join(directory, name)))
  }
  for (const directory of ["/tmp", "/var/tmp", "/dev/shm", machine.platformDir, process.cwd()]) {
    await runProgram(attacker, `touch ${directory}/${name}`)
    assert.ok(!existsSync(join(directory, name)), `${directory} is the machine's`)
  }
  assert.match(await runProgram(attacker, `touch ${attacker.volumeDir}/${name}`), /exit 0$/)
  assert.ok(existsSync(join(attacker.volumeDir, name)))
}

const nobodyIsReached = async (t: TestContext, { attacker, victim }: Scene): Promise<void> => {
  const port = createServer(socket => socket.end())
  port.listen(0, "127.0.0.1")
  await once(port, "listening")
  atEnd(t, () => port.close())
  const abstract = `svc-test-${randomUUID()}`
  const hidden = createServer(socket => socket.end())
  hidden.listen(`\0${abstract}`)
  await once(hidden, "listening")
  atEnd(t, () => hidden.close())

  const socketOf = (instance: Instance) => join(instance.socketDir, ".s.PGSQL.5432")
  assert.match(await runProgram(attacker, perl(connectUnix, socketOf(attacker))), /^connected/)
  assert.match(await runProgram(attacker, perl(connectUnix, socketOf(victim))), /^refused/)
  assert.match(await runProgram(attacker, perl(connectUnix, `@${abstract}`)), /^refused/)
  const { port: number } = port.address() as AddressInfo
  assert.match(await runProgram(attacker, perl(connectTcp, "127.0.0.1", number)), /^refused/)
  // An address that RFC 5737 keeps for documentation: with a network it would be tried, and time out.
  assert.match(
    await runProgram(attacker, perl(connectTcp, "192.0.2.1", 443)),
    /^refused Network is unreachable/,
  )
}

const nobodyIsEnded = async ({ attacker, victim, confinement }: Scene): Promise<void> => {
  assert.match(await runProgram(attacker, `kill -0 ${attacker.server.pid}`), /exit 0$/)
  if (confinement.isolation !== "user") return assert.match(confinement.reason ?? "", /end the processes/)
  for (const pid of [victim.server.pid, process.pid])
    assert.match(await runProgram(attacker, `kill -0 ${pid}`), /not permitted/)
}

const memoryStaysClosed = async ({ attacker, victim }: Scene): Promise<void> => {
  assert.match(await runProgram(attacker, perl(findSegment, segmentOf(attacker).key)), /^found/)
  assert.match(await runProgram(attacker, perl(findSegment, segmentOf(victim).key)), /^refused/)
  const creators = (await runProgram(attacker, perl(segmentCreators))).split("\n")
  assert.deepEqual(creators, [String(attacker.server.pid), "exit 0"])
}

const nothingIsRegained = async ({ machine, attacker, victim }: Scene): Promise<void> => {
  const { pid } = attacker.server
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
    assert.equal(statusOf(pid, set), "0000000000000000", set)
  assert.equal(statusOf(pid, "NoNewPrivs"), "1")
  const doors = readdirSync(`/proc/${pid}/fd`).map(fd => readlinkSync(`/proc/${pid}/fd/${fd}`))
  for (const door of doors) assert.match(door, /^(\/dev\/(null|u?random)$|pipe:|socket:|anon_inode:)/)
  assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, "latin1"), /HOME=|SVC_/)
  const attempts = [
    `umount ${machine.platformDir}`,
    `unshare --user --map-root-user --mount umount ${machine.platformDir}`,
    `unshare --user --map-root-user --mount umount /tmp`,
    `unshare --user --map-root-user --mount mount -o remount,bind,rw /`,
    `unshare --user --map-root-user --mount mount -t proc proc /proc`,
    `nsenter --target ${victim.server.pid} --mount true`,
    `nsenter --target ${process.pid} --mount --net true`,
  ]
  for (const attempt of attempts) assert.match(await runProgram(attacker, attempt), /exit [1-9]\d*$/, attempt)
}

const processesAreBounded = async ({ attacker, victim }: Scene): Promise<void> => {
  const [, children = ""] = /^children (\d+)/.exec(await runProgram(attacker, perl(forkBomb))) ?? []
  assert.ok(Number(children) > 20 && Number(children) < 120, `${children} children at a time`)
  assert.match(await runSql(victim, "SELECT 1"), /^done/)
}

const attacks: Readonly<Record<string, (t: TestContext, scene: Scene) => Promise<void>>> = {
  "reads no file of another volume or the platform": (_t, scene) => filesStayClosed(scene),
  "writes nothing outside its volume": (_t, scene) => nothingIsWritten(scene),
  "connects to no other volume, to nothing of the machine and to no network": nobodyIsReached,
  "ends no process that is not its own": (_t, scene) => nobodyIsEnded(scene),
  "sees no shared memory of another volume": (_t, scene) => memoryStaysClosed(scene),
  "gets back nothing that was taken from it": (_t, scene) => nothingIsRegained(scene),
  "cannot have more processes than its share": (_t, scene) => processesAreBounded(scene),
}

for (const { isolation, ...settings } of methods) {
  const detect = (machine: Machine) =>
    detectConfinement({
      log,
      hiddenDirs: [machine.platformDir],
      account: isRoot ? nobody : undefined,
      ...settings,
    })

  describe(`isolation by ${isolation}`, () => {
    let offered: string | false = "not tried"
    before(async () => {
      const {
        isolation: found,
        network,
        reason,
      } = await detectConfinement({ log, hiddenDirs: [], ...settings })
      offered = found === isolation && network === "none" ? false : `not offered here: ${reason ?? found}`
    })

    for (const version of pgVersions)
      test(`a superuser of PostgreSQL ${version}`, async t => {
        if (offered !== false) return t.skip(offered)
        const machine = makeMachine(t)
        const confinement = await detect(machine)
        assert.equal(confinement.isolation, isolation)
        const template = await makeTemplate(t, version)
        const attacker = await startInstance(t, confinement, machine, template, 3)
        const victim = await startInstance(t, confinement, machine, template, 4)
        const scene = { confinement, machine, attacker, victim }
        for (const [name, attack] of Object.entries(attacks)) await t.test(name, st => attack(st, scene))
      })

    test("the spawned process is the postmaster, found by its data directory, and stops in order", async t => {
      if (offered !== false) return t.skip(offered)
      const machine = makeMachine(t)
      const confinement = await detect(machine)
      const template = await makeTemplate(t, 18)
      const { dataDir, server, client } = await startInstance(t, confinement, machine, template, 5)
      assert.equal(Number.parseInt(readFileSync(join(dataDir, "postmaster.pid"), "utf8"), 10), server.pid)
      assert.ok(postgresProcessesOf(dataDir).includes(server.pid))
      assert.equal(
        Number(statusOf(server.pid, "Uid").split("\t")[0]),
        confinement.ownerOf(5)?.uid ?? process.getuid?.(),
      )
      await client.end()
      await server.stop()
      assert.ok(!existsSync(join(dataDir, "postmaster.pid")))
      assert.deepEqual(postgresProcessesOf(dataDir), [])
    })

    test("a session that works on after its postmaster died is found before the next start", async t => {
      if (offered !== false) return t.skip(offered)
      const machine = makeMachine(t)
      const confinement = await detect(machine)
      const { dataDir, server, client } = await startInstance(
        t,
        confinement,
        machine,
        await makeTemplate(t, 18),
        6,
      )
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid")
      const backend: number = rows[0].pid
      atEnd(
        t,
        () => void (postgresProcessesOf(dataDir).includes(backend) && process.kill(backend, "SIGKILL")),
      )
      const counted = client.query("SELECT count(*) FROM generate_series(1, 100000000000)")
      counted.catch(() => undefined)
      process.kill(server.pid, "SIGKILL")
      await server.exited
      await eventually(
        "only the busy session is left",
        () => postgresProcessesOf(dataDir).join() === String(backend),
      )
    })

    test("where a mount fails, less is promised and the reason is told", async t => {
      if (offered !== false) return t.skip(offered)
      const lines: string[] = []
      const account = isRoot ? nobody : undefined
      const found = await detectConfinement({
        ...{ ...settings, account, hiddenDirs: ["/usr", "/bin", "/sbin"] },
        log: line => lines.push(line),
      })
      assert.match(lines[0] ?? "", /^databases cannot be confined by .+: .+/)
      assert.match(found.reason ?? "", isolation === "user" ? /forbids mounts/ : /machine's network/)
      assert.equal(found.isolation, isolation === "user" ? "user" : "none")
      assert.equal(found.network, isolation === "user" ? "none" : "open")
    })
  })
}

test("a directory that cannot be hidden is refused, not left open", {
  skip: process.platform !== "linux",
}, async () => {
  for (const directory of ["/", "/no/such/directory"])
    await assert.rejects(detectConfinement({ log, hiddenDirs: [directory] }), {
      name: "PortError",
      kind: "refused",
    })
})
