/** What a kernel has a number of: one workload takes all that it can get, and its neighbour and the host still get some. */
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import { text } from "node:stream/consumers"
import { type TestContext, test } from "node:test"
import { type CountedResource, countedResources, type Guest } from "../port.ts"
import { perl, type Subject, sharesKernel, startIn } from "./fixture.ts"

interface Resource {
  /** Perl: takes one more and gives true, or gives false. `$number` counts what the process has taken. */
  readonly take: string
  /** Processes that take at the same time, half of them by root; where a process has a limit of its own it takes many. */
  readonly takers?: number
}

const isArm = process.arch === "arm64"
/** By asm/unistd.h. */
const call = (x64: number, arm64: number) => `syscall(${isArm ? arm64 : x64}`
const zeros = `my $place = "\\0" x 64`
/** Another program has none of the pipes open. */
const child = (program: string) =>
  `my $pid = fork; defined $pid or return 0; if (!$pid) { ${program}; kill 9, $$ } push @children, $pid`
const STAYS = 'exec "sleep", "1000"'

/** Of all that is not bounded before; and where a kernel is the workload's own, which asks this one for memory alone. */
const [EACH_MAX, EACH_OWN_MAX] = [100_000, 500]

const resources: Readonly<Record<CountedResource, Resource>> = {
  processes: { take: `${child(STAYS)}; 1` },
  // Processes that nobody waits for keep their numbers.
  pids: { take: `${child("")}; 1` },
  threads: { take: `require threads; defined threads->create(sub { sleep 1000 })` },
  files: {
    take: `my $path = "/dev/null"; ${call(257, 56)}, -100, $path, 0, 0) >= 0`,
    takers: 24,
  },
  sockets: {
    take: `${call(41, 198)}, $number % 2 ? 1 : 2, 2, 0) >= 0`,
    takers: 4,
  },
  inotify: { take: `${call(294, 26)}, 0) >= 0` },
  // SIGEV_NONE
  timers: {
    take: `${zeros}; my $event = pack "x8 l2 x48", 0, 1; ${call(222, 107)}, 1, $event, $place) >= 0`,
  },
  "message queues": {
    take: `my $name = "svc-$$-$number"; my $queue = ${call(240, 180)}, $name, 0102, 0600, 0);
      my $copy = $name; ${call(241, 181)}, $copy) if $queue >= 0; $queue >= 0`,
  },
  aio: { take: `${zeros}; ${call(206, 0)}, 128, $place) >= 0` },
  terminals: { take: `sysopen my $terminal, "/dev/ptmx", 2 or return 0; push @kept, $terminal` },
  keys: {
    take: `my ($type, $name, $text) = ("user", "svc-$$-$number", "x"); ${call(248, 217)}, $type, $name, $text, 1, -2) >= 0`,
  },
  "user namespaces": {
    take: `pipe my $said, my $teller or return 0;
      ${child(`syswrite $teller, "x" if ${call(272, 97)}, 0x10000000) == 0; close $teller; ${STAYS}`)};
      close $teller; sysread $said, my ($word), 1`,
  },
  "huge pages": { take: `${call(9, 222)}, 0, 2 << 20, 3, 0x40022, -1, 0) != -1` },
  "loop devices": {
    take: `my $path = -e "/dev/loop-control" ? "/dev/loop-control" : "/tmp/loop-control";
      system "mknod $path c 10 237 2>/dev/null" unless -e $path;
      sysopen my $control, $path, 2 or return 0; my $free = ioctl $control, 0x4C82, 0; defined $free && $number < 8`,
  },
}

/**
 * Takes as many as its argument says, at most, in each of so many processes; says how many it has got, and keeps them
 * until its input ends. Root is two: what the kernel counts per user it counts for each.
 */
const programOf = ({ take, takers = 2 }: Resource): string => `
  my (@children, @kept, $number, $begun); $SIG{PIPE} = "IGNORE"; my ($most, $takers) = ($ARGV[0], $ARGV[0] == 1 ? 1 : ${takers});
  sub take { ${take} }
  pipe my $counts, my $teller; pipe my $waits, my $holder;
  for my $taker (1 .. $takers) {
    my $pid = fork; last unless defined $pid; $begun++, next if $pid;
    close $holder; ($(, $)) = (1000, "1000 1000"), ($<, $>) = (1000, 1000) if $taker % 2 == 0;
    $number = 0; $number++ while $number < $most && take();
    syswrite $teller, pack "L", $number; close $teller;
    sysread $waits, my ($end), 1; kill 9, @children; kill 9, $$ }
  close $teller; my ($sum, $count) = (0); $begun-- && ($sum += unpack "L", $count) while $begun && sysread $counts, $count, 4;
  $| = 1; print "$sum\\n"; 1 while sysread STDIN, my ($rest), 4096; close $holder; 1 while wait > 0`

const one = async (guest: Guest, program: string): Promise<string> =>
  (await perl(guest, program.replaceAll("$ARGV[0]", "1"), { user: "root" })).stdout

const oneHere = async (program: string): Promise<string> => {
  const started = spawn("perl", ["-e", program, "1"], { stdio: ["ignore", "pipe", "inherit"] })
  const [said] = await Promise.all([text(started.stdout), once(started, "close")])
  return said
}

/** Some for a test, where this machine has none and may have; the setting is put back afterwards. */
const withHugePages = async (t: TestContext): Promise<boolean> => {
  const path = "/proc/sys/vm/nr_hugepages"
  const before = (await readFile(path, "utf8").catch(() => "0")).trim()
  if (before !== "0") return true
  t.after(() => writeFile(path, before).catch(() => undefined))
  await writeFile(path, "4").catch(() => undefined)
  return (await readFile(path, "utf8").catch(() => "0")).trim() !== "0"
}

const ofProcesses: readonly CountedResource[] = ["processes", "pids", "threads"]

const whySkipped = async (
  t: TestContext,
  subject: Subject,
  name: CountedResource,
): Promise<string | undefined> => {
  const { capabilities } = subject.runtime
  if (ofProcesses.includes(name) && !capabilities.limits.processes) return "the driver cannot limit processes"
  if (name === "huge pages" && !(await withHugePages(t))) return "this machine gives no huge pages"
  return capabilities.sharedResources[name]
}

interface Pair {
  readonly greedy: Guest
  readonly neighbour: Guest
  readonly most: number
}

const takesAll = async (
  t: TestContext,
  { greedy, neighbour, most }: Pair,
  program: string,
): Promise<void> => {
  const before = [await one(neighbour, program), await oneHere(program)]
  const taker = await greedy.exec({ argv: ["perl", "-e", program, String(most)], user: "root" })
  const [count] = await once(taker.stdout.setEncoding("utf8"), "data")
  assert.match(String(count), /^\d+\n$/)
  t.diagnostic(`took ${String(count).trim()}`)
  assert.deepEqual([await one(neighbour, program), await oneHere(program)], before)
  taker.stdin.end()
  await taker.exited
}

export const resourceTests = (subject: Subject): void => {
  test("one workload takes all that a kernel counts, and its neighbour and the host still get some", async t => {
    const started = await Promise.all([startIn(t, subject), startIn(t, subject)])
    const [{ guest: greedy }, { guest: neighbour }] = started
    const most = sharesKernel(subject) ? EACH_MAX : EACH_OWN_MAX
    for (const name of countedResources)
      await t.test(name, async each => {
        const reason = await whySkipped(each, subject, name)
        if (reason !== undefined) return each.skip(reason)
        await takesAll(each, { greedy, neighbour, most }, programOf(resources[name]))
      })
  })
}
