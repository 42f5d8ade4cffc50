/** Valid inputs of the operations of computers, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import { type Sample, type SampleWorld, shared, type Unsampled } from "../../../testing/sample-world.ts"

const COMPUTER = { memory_mb: 128, vcpus: 0.25, disk_gb: 1 } as const

const newComputer = async ({ key }: SampleWorld) => ({
  id: (await key.computers.create({ name: uniqueName(), ...COMPUTER })).id,
})

const sharedComputer = shared(newComputer)

export const samples = {
  "computers.create": async () => ({ name: uniqueName(), ...COMPUTER }),
  "computers.get": sharedComputer,
  "computers.delete": newComputer,
  "computers.exec": async world => ({ ...(await sharedComputer(world)), command: "true" }),
  "computers.readFile": async world => ({ ...(await sharedComputer(world)), path: "/etc/passwd" }),
  "computers.writeFiles": async world => ({
    ...(await sharedComputer(world)),
    files: [{ path: "/tmp/a", content: "a" }],
  }),
  "computers.setSshKeys": async world => ({ ...(await sharedComputer(world)), ssh_keys: [] }),
  "computers.start": sharedComputer,
  "computers.stop": newComputer,
  "computers.metrics": sharedComputer,
} satisfies Readonly<Record<string, Sample>>

export const unsampled = {
  "computers.terminal":
    "answers with a connection; areas/computers/terminals.test.ts has who gets one, and the audit entry",
  "computers.getOrCreate":
    "names no machine by id: another tenant makes its own; areas/computers/computers.test.ts has it",
} satisfies Unsampled
