import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { text } from "node:stream/consumers"
import type { TestContext } from "node:test"
import { PortError, type PortErrorKind } from "../../port-error.ts"
import type { Command, Exit, Guest, RuntimePort, WorkloadSpec } from "../port.ts"

/** One driver that is open for all tests of a suite. */
export interface Subject {
  readonly runtime: RuntimePort
}

export const MiB = 2 ** 20

/** Why a test that starts hundreds of programs, or moves as many megabytes, is left out; undefined when it is not. */
export const tooMuchFor = ({ runtime }: Subject): string | undefined =>
  runtime.capabilities.isolation === "microvm-emulated"
    ? "emulated guests take too long for as much as this"
    : undefined

/** Drivers whose workloads call a kernel of their own may let them have it. */
export const sharesKernel = ({ runtime }: Subject): boolean =>
  ["process", "container"].includes(runtime.capabilities.isolation)

export const specOf = (given: Partial<WorkloadSpec> = {}): WorkloadSpec => ({
  id: randomUUID(),
  hostname: "box",
  root: { kind: "host" },
  disk: { kind: "memory", bytes: 64 * MiB },
  vcpus: 1,
  memoryBytes: 256 * MiB,
  processesMax: 64,
  network: { mode: "none" },
  mounts: [],
  ...given,
})

export const persistent = { disk: { kind: "persistent", bytes: 64 * MiB } } as const

/** Starts a workload that is destroyed after the test. */
export const startIn = async (
  t: TestContext,
  { runtime }: Subject,
  given: Partial<WorkloadSpec> = {},
): Promise<{ guest: Guest; spec: WorkloadSpec }> => {
  const spec = specOf(given)
  t.after(() => runtime.destroy(spec.id))
  return { guest: await runtime.start(spec), spec }
}

export interface Ran extends Exit {
  readonly stdout: string
  readonly stderr: string
}

export const run = async (guest: Guest, command: Command, stdin = ""): Promise<Ran> => {
  const process = await guest.exec(command)
  process.stdin.end(stdin)
  const [stdout, stderr, exit] = await Promise.all([
    text(process.stdout),
    text(process.stderr),
    process.exited,
  ])
  return { stdout, stderr, ...exit }
}

export const shell = (guest: Guest, script: string, given: Partial<Command> = {}): Promise<Ran> =>
  run(guest, { argv: ["/bin/sh", "-c", script], ...given })

/** For scripts: the names in a directory, one to a line. It asks for less than ls does, which not all kernels know. */
export const LIST = `perl -e 'opendir my $d, shift or exit 1; print map { "$_\\n" } sort grep { !/^\\.\\.?$/ } readdir $d'`
/** For scripts: owner, group, mode and size of files. */
export const STAT = `perl -e 'for (@ARGV) { my @s = stat; printf "%d:%d %o %d\\n", @s[4, 5], $s[2] & 07777, $s[7] }'`

/** Perl is in the host's root: a language that reaches system calls. */
export const perl = (guest: Guest, program: string, given: Partial<Command> = {}): Promise<Ran> =>
  run(guest, { argv: ["perl", "-e", program], ...given })

export const rejectsAs = async (
  kind: PortErrorKind,
  call: () => Promise<unknown>,
  reason?: string,
): Promise<void> => {
  await assert.rejects(call, error => {
    assert.ok(error instanceof PortError, String(error))
    assert.equal(error.kind, kind, error.message)
    if (reason !== undefined) assert.deepEqual(error.cause, { reason })
    return true
  })
}

/** Processes of this machine with a text in their arguments, but for zombies, which have none. */
export const processesWith = async (marker: string): Promise<readonly number[]> => {
  const pids = (await readdir("/proc")).filter(name => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async pid => {
      const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")
      return commandLine.includes(marker) ? [Number(pid)] : []
    }),
  )
  return found.flat()
}
