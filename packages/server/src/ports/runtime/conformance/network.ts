import assert from "node:assert/strict"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { test } from "node:test"
import type { DnsServer } from "../../../testing/dns.ts"
import { eventually } from "../../../testing/eventually.ts"
import type { Guest, NetworkPolicy } from "../port.ts"
import { internet } from "../testing/lab.ts"
import {
  perl,
  processesWith,
  rejectsAs,
  type Subject,
  shell,
  specOf,
  startIn,
  tooMuchFor,
} from "./fixture.ts"

export interface NetworkSubject extends Subject {
  /** Whom the machine asks for names. */
  readonly dns: DnsServer
}

const { port, servers, inside, machine } = internet
const [first, second, third, fourth] = servers
const open: NetworkPolicy = { mode: "filtered", allow: null, deny: [] }
const allowing = (...allow: readonly string[]): NetworkPolicy => ({ mode: "filtered", allow, deny: [] })

/** For what comes at once but on a machine that does much else. Most of what may not be reached is refused at once. */
const PATIENCE_S = 60
/** For what nobody may answer. */
const SILENCE_S = 3

/** Those of the targets, `host:port`, that a TCP connection leads to, with what their server says. */
const reached = async (
  guest: Guest,
  targets: readonly string[],
  seconds = PATIENCE_S,
): Promise<Record<string, string>> => {
  const program = `use IO::Socket::INET; for (split /,/, "${targets.join()}") {
    my $s = IO::Socket::INET->new(PeerAddr => $_, Timeout => ${seconds}) or next; my $l = <$s> // ""; chomp $l; print "$_=$l\\n" }`
  const { stdout, stderr } = await perl(guest, program)
  assert.equal(stderr, "")
  return Object.fromEntries(
    stdout
      .split("\n")
      .filter(Boolean)
      .map(line => line.split("=") as [string, string]),
  )
}

const names = async (guest: Guest, ...targets: readonly string[]) =>
  Object.keys(await reached(guest, targets)).map(target => target.replace(`:${port}`, ""))

const at = (...hosts: readonly string[]) => hosts.map(host => `${host}:${port}`)

/** What a datagram to each of these is answered with. Once all but the `silent` ones have said something, a second is enough. */
const echoed = async (
  guest: Guest,
  answering: readonly string[],
  silent: readonly string[] = [],
): Promise<string> => {
  const program = `use IO::Socket::INET; my (%asked, %said); my @hosts = qw(${[...answering, ...silent].join(" ")});
    for (@hosts) {
      my $s = IO::Socket::INET->new(PeerAddr => $_, PeerPort => ${port}, Proto => "udp") or next;
      send $s, $_, 0; $asked{$_} = $s }
    while (%asked) {
      my $r = ""; vec($r, fileno $_, 1) = 1 for values %asked;
      last if select($r, undef, undef, keys %said < ${answering.length} ? ${PATIENCE_S} : 1) < 1;
      for my $host (grep { vec $r, fileno $asked{$_}, 1 } keys %asked) {
        my $s = delete $asked{$host}; my $b; sysread $s, $b, 99 and $said{$host} = $b } }
    print join " ", map { $said{$_} // () } @hosts`
  return (await perl(guest, program)).stdout
}

/** Asks the name server that the workload was given; answers `code` or addresses. */
const lookUp = async (guest: Guest, name: string, given: { type?: number; tcp?: boolean } = {}) => {
  const { type = 1, tcp = false } = given
  const program = `use IO::Socket::INET; open my $f, "<", "/etc/resolv.conf"; my ($ns) = <$f> =~ /(\\d\\S+)/;
    my $s = IO::Socket::INET->new(PeerAddr => $ns, PeerPort => 53, Proto => "${tcp ? "tcp" : "udp"}") or die "no: $!";
    my $q = pack("n6", 7, 256, 1, 0, 0, 0) . join("", map { pack "C/a*", $_ } split /\\./, "${name}") . pack("Cnn", 0, ${type}, 1);
    print $s ${tcp ? 'pack("n/a*", $q)' : "$q"}; $s->flush; my $r = ""; vec($r, fileno $s, 1) = 1;
    select($r, undef, undef, ${PATIENCE_S}) or die "silence"; sysread $s, my ($a), 4096; ${tcp ? "substr $a, 0, 2, '';" : ""}
    my ($id, $flags, undef, $count) = unpack "n4", $a; die "id" unless $id == 7;
    my @a = map { join ".", unpack "C4", substr $a, length($q) + 16 * $_ + 12, 4 } 0 .. $count - 1;
    print ${type === 1 ? '@a ? "@a" : "code " . ($flags & 15)' : '"code " . ($flags & 15) . " " . $count'}`
  const { stdout, stderr } = await perl(guest, program)
  return stdout || stderr
}

const outsideTests = (subject: NetworkSubject): void => {
  test("what is public is reached by TCP, UDP and ping, from the machine's address", async t => {
    const { guest } = await startIn(t, subject, { network: open })
    assert.deepEqual(await reached(guest, at(first)), { [`${first}:${port}`]: `${first} ${machine}` })
    assert.equal(await echoed(guest, [first, second]), `${first} ${second}`)
    const ping = await shell(guest, `command -v ping || exit 7; ping -c 1 -W ${PATIENCE_S} ${first}`)
    assert.ok([0, 7].includes(ping.code ?? 1), ping.stdout + ping.stderr)
  })

  test("nothing private, of a cloud's own services or of the machine is reached", async t => {
    const server = createServer(socket => socket.end("machine\n")).listen(port, "0.0.0.0")
    t.after(() => server.close())
    await once(server, "listening")
    const { guest } = await startIn(t, subject, { network: open })
    const { guest: neighbour, spec } = await startIn(t, subject, {
      network: { ...open, address: "10.64.0.77" },
    })
    const listen = `use IO::Socket::INET; my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "0.0.0.0",
      LocalPort => ${port}) or die; $| = 1; print "up"; while (my $c = $s->accept) { print $c "neighbour\n" }`
    await once((await neighbour.exec({ argv: ["perl", "-e", listen] })).stdout, "data")
    const ofMachine = Object.values(networkInterfaces())
      .flatMap(found => found ?? [])
      .filter(({ family }) => family === "IPv4")
      .map(({ address }) => address)
    assert.ok(ofMachine.length >= 3, ofMachine.join())
    const gateway = "10.128.0.1"
    const all = [...inside, ...ofMachine, gateway, "10.64.0.77", "0.0.0.0", "255.255.255.255", "224.0.0.1"]
    assert.deepEqual(await reached(guest, at(...all), SILENCE_S), {})
    assert.equal(await echoed(guest, [], [...all.slice(0, 4), machine, "10.64.0.77"]), "")
    assert.deepEqual(await names(neighbour, ...at("10.64.0.77")), ["10.64.0.77"])
    assert.equal(spec.network.mode, "filtered")
    assert.deepEqual(await names(guest, ...at(first)), [first])
  })

  test("nobody in a workload makes packets of his own, or changes its address or device", async t => {
    const { guest } = await startIn(t, subject, { network: open })
    // AF_PACKET and raw AF_INET; SIOCSIFADDR, SIOCSIFFLAGS and SIOCSIFHWADDR; RTM_NEWADDR by netlink.
    const program = `use Socket; my @done;
      for ([17, 3, 768], [17, 2, 768], [2, 3, 1], [2, 3, 17], [2, 3, 255]) { push @done, "@$_" if socket my $s, $_->[0], $_->[1], $_->[2] }
      socket my $s, 2, 2, 0; my $address = pack "S n C4 x8", 2, 0, 10, 64, 0, 99;
      my @asked = ([0x8916, pack "a16 a16 x8", "eth0", $address], [0x8914, pack "a16 S x22", "eth0", 0],
        [0x8924, pack "a16 S C6 x16", "eth0", 1, 2, 0, 0, 0, 0, 9]);
      for (@asked) { push @done, sprintf "%x", $_->[0] if ioctl $s, $_->[0], $_->[1] }
      my $body = pack "CCCCL SS C4 SS C4", 2, 32, 0, 0, 2, 8, 2, 10, 64, 0, 99, 8, 1, 10, 64, 0, 99;
      if (socket my $n, 16, 3, 0) {
        syswrite $n, pack("LSSLL", 16 + length $body, 20, 0x605, 1, 0) . $body; my ($r, $a) = ("", ""); vec($r, fileno $n, 1) = 1;
        push @done, "netlink" if select($r, undef, undef, 3) && sysread($n, $a, 4096) && !(unpack "x4 S x10 l", $a)[1] }
      print join ",", @done`
    for (const user of ["user", "root"] as const)
      assert.deepEqual(await perl(guest, program, { user }).then(({ stdout, stderr }) => [stdout, stderr]), [
        "",
        "",
      ])
    assert.deepEqual(await names(guest, ...at(first)), [first])
  })

  test("without a network there is no device and no route but loopback", async t => {
    const { guest } = await startIn(t, subject)
    const { stdout } = await shell(
      guest,
      "tail -n +3 /proc/net/dev | cut -d: -f1; tail -n +2 /proc/net/route",
    )
    assert.equal(stdout.trim(), "lo")
    assert.deepEqual(await names(guest, ...at(first)), [])
  })

  test("there is no IPv6 but loopback", async t => {
    const { guest } = await startIn(t, subject, { network: open })
    const { stdout } = await shell(guest, "awk '{ print $6 }' /proc/net/if_inet6 | sort -u")
    assert.ok(["lo", ""].includes(stdout.trim()), stdout)
  })
}

const listTests = (subject: NetworkSubject): void => {
  test("of networks, those that are allowed are reached, and none that is denied", async t => {
    const allowed = await startIn(t, subject, { network: allowing(`${first}/31`, "10.0.0.0/8", "::/0") })
    assert.deepEqual(await names(allowed.guest, ...at(first, second, third, inside[4])), [first, second])
    assert.equal(await echoed(allowed.guest, [first], [third]), first)
    const denied = await startIn(t, subject, {
      network: { mode: "filtered", allow: null, deny: ["93.184.216.0/24"] },
    })
    assert.deepEqual(await names(denied.guest, ...at(first, second, third)), [third])
    const both = await startIn(t, subject, {
      network: { mode: "filtered", allow: ["0.0.0.0/0"], deny: [`${third}/32`] },
    })
    assert.deepEqual(await names(both.guest, ...at(first, third, inside[0])), [first])
    const nothing = await startIn(t, subject, { network: allowing() })
    assert.deepEqual(await names(nothing.guest, ...at(first)), [])
  })

  test("of names, those that are allowed are resolved, and reached once they were", async t => {
    const { dns } = subject
    dns.answer("example.com", [{ type: "A", data: first }])
    dns.answer("a.example.com", [{ type: "A", data: second }])
    dns.answer("deep.b.wild.test", [{ type: "A", data: third }])
    dns.answer("wild.test", [{ type: "A", data: fourth }])
    const { guest } = await startIn(t, subject, { network: allowing("Example.com", "*.wild.test") })
    assert.deepEqual(await names(guest, ...at(first, third)), [])
    assert.deepEqual(await names(guest, ...at("example.com", "deep.b.wild.test")), [
      "example.com",
      "deep.b.wild.test",
    ])
    assert.deepEqual(await names(guest, ...at(first, second, third, fourth)), [first, third])
    const questions = dns.questions.length
    for (const name of [
      "a.example.com",
      "wild.test",
      "notexample.com",
      "xwild.test",
      "com",
      "secret.evil.test",
    ])
      assert.equal(await lookUp(guest, name), "code 5", name)
    assert.equal(dns.questions.length, questions, "a refused name is told to nobody")
  })

  test("a name that leads inside is refused, also when it changes its mind", async t => {
    const { dns } = subject
    let address: string = first
    dns.answer("turns.rebind.test", () => [{ type: "A", data: address }])
    dns.answer("meta.test", [{ type: "A", data: "169.254.169.254" }])
    dns.answer("host.test", [{ type: "A", data: machine }])
    dns.answer("mixed.test", [
      { type: "A", data: "127.0.0.1" },
      { type: "A", data: third },
    ])
    for (const network of [open, allowing("*.rebind.test", "10.0.0.0/8")]) {
      address = first
      const { guest } = await startIn(t, subject, { network })
      assert.equal(await lookUp(guest, "turns.rebind.test"), first)
      address = inside[4]
      assert.equal(await lookUp(guest, "turns.rebind.test"), "code 5")
    }
    const { guest } = await startIn(t, subject, {
      network: allowing("meta.test", "host.test", "turns.rebind.test", "mixed.test"),
    })
    for (const name of ["meta.test", "host.test", "turns.rebind.test"])
      assert.equal(await lookUp(guest, name), "code 5", name)
    assert.equal(await lookUp(guest, "mixed.test"), third)
    assert.deepEqual(await names(guest, ...at(inside[0], inside[4], machine, third)), [third])
  })
}

const nameTests = (subject: NetworkSubject): void => {
  test("names are resolved by UDP and TCP, and what else is asked is answered", async t => {
    const { dns } = subject
    dns.answer("tcp.test", [
      { type: "A", data: second },
      { type: "AAAA", data: "2600::1" },
      { type: "MX", data: "mx.test", priority: 1 },
    ])
    dns.answer("broken.test", "fail")
    const { guest } = await startIn(t, subject, { network: open })
    assert.equal(await lookUp(guest, "tcp.test"), second)
    assert.equal(await lookUp(guest, "TCP.test", { tcp: true }), second)
    assert.equal(await lookUp(guest, "none.test"), "code 3")
    assert.equal(await lookUp(guest, "broken.test"), "code 2")
    assert.equal(await lookUp(guest, "localhost"), "code 3")
    assert.equal(await lookUp(guest, "tcp.test", { type: 28 }), "code 0 0")
    assert.equal(await lookUp(guest, "tcp.test", { type: 15 }), "code 0 1")
    assert.deepEqual(await names(guest, ...at("tcp.test")), ["tcp.test"])
  })
}

const boundTests = (subject: NetworkSubject): void => {
  test("one workload's connections are bounded, and others' go on", async t => {
    const [{ guest: greedy }, { guest: other }] = await Promise.all([
      startIn(t, subject, { network: open, processesMax: 64 }),
      startIn(t, subject, { network: open }),
    ])
    const flood = `use Socket; my $to = sockaddr_in(${port}, inet_aton("${first}")); my $r = ""; my $got = 0; my @s;
      for (1 .. 900) { socket my $s, 2, 2, 17 or last; send $s, "x", 0, $to; push @s, $s }
      my %asked = map { fileno $_ => $_ } @s;
      while (%asked) { $r = ""; vec($r, $_, 1) = 1 for keys %asked;
        last if select($r, undef, undef, $got > 100 ? 1 : ${PATIENCE_S}) < 1;
        for (grep { vec $r, $_, 1 } keys %asked) { my $s = delete $asked{$_}; recv $s, my ($b), 9, 64; $got++ if length $b } }
      print scalar @s, " $got"`
    const { stdout } = await perl(greedy, flood)
    const [sent = 0, answered = 0] = stdout.split(" ").map(Number)
    assert.equal(sent, 900, stdout)
    assert.ok(answered > 100 && answered <= 512, stdout)
    assert.deepEqual(await names(other, ...at(first)), [first])
  })

  test("bytes are counted as the workload sees them", async t => {
    const { guest, spec } = await startIn(t, subject, { network: open })
    const before = await subject.runtime.stats(spec.id)
    await perl(
      guest,
      `use Socket; socket my $s, 2, 2, 17; connect $s, sockaddr_in(${port}, inet_aton("${first}"));
       for (1 .. 100) { send $s, "x" x 1000, 0; my $r = ""; vec($r, fileno $s, 1) = 1; select $r, undef, undef, 1; sysread $s, my ($b), 2000 }`,
    )
    const { network } = await subject.runtime.stats(spec.id)
    assert.ok(before.network && network)
    assert.ok(network.sentBytes - before.network.sentBytes >= 100_000, JSON.stringify(network))
    assert.ok(network.receivedBytes - before.network.receivedBytes >= 100_000, JSON.stringify(network))
    const { spec: alone } = await startIn(t, subject)
    assert.equal((await subject.runtime.stats(alone.id)).network, null)
  })

  test("an address that is asked for is the workload's, again after a stop, and nobody else's meanwhile", async t => {
    const network: NetworkPolicy = { mode: "filtered", allow: null, deny: [], address: "10.70.1.2" }
    const { spec } = await startIn(t, subject, { network })
    await rejectsAs("unavailable", () => subject.runtime.start(specOf({ network })))
    await rejectsAs("refused", () =>
      subject.runtime.start(specOf({ network: { ...network, address: "192.168.1.1" } })),
    )
    await rejectsAs("refused", () => subject.runtime.start(specOf({ network: allowing("1.2.3.4/33") })))
    await rejectsAs("refused", () => subject.runtime.start(specOf({ network: allowing("a; flush ruleset") })))
    for (let round = 0; round < 3; round += 1) {
      await subject.runtime.stop(spec.id, 0)
      const guest = await subject.runtime.start(spec)
      const own = `use Socket; socket my $s, 2, 2, 17; connect $s, sockaddr_in(9, inet_aton("${first}"));
        print inet_ntoa((sockaddr_in(getsockname $s))[1])`
      assert.equal((await perl(guest, own)).stdout, "10.70.1.2")
      assert.deepEqual(await names(guest, ...at(first)), [first])
    }
  })

  test("many that start and end at once leave no device", async t => {
    const { runtime } = subject
    const many = tooMuchFor(subject) === undefined ? 12 : 4
    const specs = Array.from({ length: many }, (_, n) =>
      specOf({ network: n % 2 ? open : allowing("example.com", "1.2.3.0/24") }),
    )
    t.after(() => Promise.all(specs.map(({ id }) => runtime.destroy(id))))
    await Promise.all(specs.map(spec => runtime.start(spec)))
    const before = await cables()
    assert.ok(before.length >= specs.length, before.join())
    await Promise.all(specs.map(({ id }) => runtime.destroy(id)))
    await eventually(
      "their cables are gone",
      async () => (await cables()).length <= before.length - specs.length,
    )
  })
}

/** Of workloads, in the gateways that this process started. */
const cables = async (): Promise<readonly string[]> => {
  const found: string[] = []
  for (const pid of await processesWith("svc-gateway")) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "")
    if (!status.includes(`PPid:\t${process.pid}\n`)) continue
    const table = await readFile(`/proc/${pid}/net/dev`, "utf8")
    found.push(...(table.match(/\bw[0-9a-f]{8}(?=:)/g) ?? []))
  }
  return found
}

/** Of gateways, on what stands for the machine. */
export const gatewayDevices = async (): Promise<readonly string[]> =>
  (await readFile("/proc/net/dev", "utf8")).match(/\bsvc[0-9a-f]{8}(?=:)/g) ?? []

/** For drivers whose workloads have a filtered network, in the lab of `testing/lab.ts`. */
export const networkTests = (subject: NetworkSubject): void => {
  outsideTests(subject)
  listTests(subject)
  nameTests(subject)
  boundTests(subject)
}
