/** The kinds of workloads as their callers see them: what all of them guarantee is tested once, for each. */
import type { Scope } from "@svc/contract"
import type { Svc } from "@svc/sdk"

type CommandInput = Omit<Parameters<Svc["sandboxes"]["runCommand"]>[0], "id">
type CommandResult = Omit<Awaited<ReturnType<Svc["computers"]["exec"]>>, "id">

interface CreateInput {
  readonly env?: Record<string, string>
  readonly labels?: Record<string, string>
  readonly image?: string
  readonly idleSeconds?: number
}

/** What the records of all kinds have. */
type Machine = Pick<
  Awaited<ReturnType<Svc["computers"]["get"]>>,
  | "id"
  | "project_id"
  | "env_names"
  | "labels"
  | "isolation"
  | "image_digest"
  | "status_reason"
  | "started_at"
  | "stopped_at"
> & { readonly status: string }

export interface KindClient {
  create(input?: CreateInput): Promise<Machine>
  get(id: string): Promise<Machine>
  start(id: string): Promise<Machine>
  stop(id: string): Promise<Machine>
  delete(id: string): Promise<unknown>
  list(): Promise<{ readonly ids: readonly string[]; readonly total: number }>
  run(id: string, input: CommandInput): Promise<CommandResult>
  writeFile(id: string, path: string, content: string): Promise<unknown>
  /** All calls that need it to run on the host that takes them. */
  uses(id: string): readonly (() => Promise<unknown>)[]
  /** All calls that need its host, whether or not it runs. */
  changes(id: string): readonly (() => Promise<unknown>)[]
}

export interface Kind {
  readonly name: string
  /** As the list of services names its area. */
  readonly area: "sandboxes" | "computers"
  readonly keepsDisk: boolean
  readonly states: { readonly starting: string; readonly failed: string }
  readonly notFound: readonly [code: string, status: number]
  readonly notRunning: readonly [code: string, status: number]
  /** What its record says of why it does not run. */
  readonly reasons: Readonly<Record<"stopped" | "idle" | "hostLost" | "failed", object>>
  /** What it is given when nothing else is asked for. */
  readonly size: { readonly vcpus: number; readonly memoryMb: number; readonly diskGb: number }
  /** Where commands and relative files begin. */
  readonly home: string
  on(svc: Svc): KindClient
}

export const SCOPES: Scope[] = [
  "sandboxes:read",
  "sandboxes:write",
  "computers:read",
  "computers:write",
  "computers:exec",
]

type SandboxInput = NonNullable<Parameters<Svc["sandboxes"]["create"]>[0]>

const onSandboxes =
  (shape: SandboxInput): Kind["on"] =>
  ({ sandboxes }) => ({
    create: ({ env = {}, labels = {}, image = "host-rootfs", idleSeconds = 0 } = {}) =>
      sandboxes.create({ ...shape, env, labels, template: image, idle_timeout_seconds: idleSeconds }),
    get: id => sandboxes.get({ id }),
    start: id => sandboxes.start({ id }),
    stop: id => sandboxes.stop({ id }),
    delete: id => sandboxes.delete({ id }),
    list: async () => {
      const { sandboxes: listed, total } = await sandboxes.list()
      return { ids: listed.map(({ id }) => id), total }
    },
    run: (id, input) => sandboxes.runCommand({ id, ...input }),
    writeFile: (id, path, content) => sandboxes.writeFiles({ id, files: [{ path, content }] }),
    uses: id => [
      () => sandboxes.runCommand({ id, command: "true" }),
      () => sandboxes.streamCommand({ id, command: "true" }),
      () => sandboxes.terminal({ id }),
      () => sandboxes.metrics({ id }),
      () => sandboxes.readFile({ id, path: "tmp/x" }),
      () => sandboxes.writeFiles({ id, files: [{ path: "x", content: "x" }] }),
      () => sandboxes.putFile({ id, path: "tmp/x" }, { body: "x" }),
    ],
    changes: id => [() => sandboxes.start({ id }), () => sandboxes.stop({ id })],
  })

const sandboxKind = {
  area: "sandboxes",
  states: { starting: "PROVISIONING", failed: "FAILED" },
  notFound: ["sandbox_not_found", 404],
  notRunning: ["sandbox_not_running", 400],
  reasons: {
    stopped: { stop_reason: "stopped" },
    idle: { stop_reason: "idle_timeout" },
    hostLost: { stop_reason: "host_lost" },
    failed: { stop_reason: "error" },
  },
  home: "/workspace",
} as const

let computersMade = 0

const onComputers: Kind["on"] = ({ computers }) => ({
  create({ env = {}, labels = {}, image = "host-rootfs", idleSeconds = 0 } = {}) {
    computersMade += 1
    const name = `c${computersMade}`
    const size = { vcpus: 0.5, memory_mb: 256, disk_gb: 1 }
    return computers.create({ name, ...size, env, labels, image, auto_stop_seconds: idleSeconds })
  },
  get: id => computers.get({ id }),
  start: id => computers.start({ id }),
  stop: id => computers.stop({ id }),
  delete: id => computers.delete({ id }),
  list: async () => {
    const { computers: listed, total } = await computers.list()
    return { ids: listed.map(({ id }) => id), total }
  },
  run: (id, input) => computers.exec({ id, ...input }),
  writeFile: (id, path, content) =>
    computers.writeFiles({ id, files: [{ path: `/home/user/${path}`, content }] }),
  uses: id => [
    () => computers.exec({ id, command: "true" }),
    () => computers.terminal({ id }),
    () => computers.metrics({ id }),
    () => computers.readFile({ id, path: "/etc/hostname" }),
    () => computers.writeFiles({ id, files: [{ path: "/tmp/x", content: "x" }] }),
  ],
  changes: id => [
    () => computers.start({ id }),
    () => computers.stop({ id }),
    () => computers.setSshKeys({ id, ssh_keys: [] }),
  ],
})

export const kinds: readonly Kind[] = [
  {
    ...sandboxKind,
    name: "an ephemeral sandbox",
    keepsDisk: false,
    size: { vcpus: 0.5, memoryMb: 256, diskGb: 1 },
    on: onSandboxes({ vcpus: 0.5, memory_mb: 256 }),
  },
  {
    ...sandboxKind,
    name: "a persistent sandbox",
    keepsDisk: true,
    size: { vcpus: 1, memoryMb: 512, diskGb: 10 },
    on: onSandboxes({ kind: "persistent", vcpus: 1, memory_mb: 512, disk_gb: 10 }),
  },
  {
    name: "a computer",
    area: "computers",
    keepsDisk: true,
    states: { starting: "CREATING", failed: "ERROR" },
    notFound: ["computer_not_found", 404],
    notRunning: ["computer_not_running", 409],
    reasons: {
      stopped: { status_reason: null },
      idle: { status_reason: "nobody used it for auto_stop_seconds" },
      hostLost: { status_reason: "its host is gone" },
      failed: {},
    },
    size: { vcpus: 0.5, memoryMb: 256, diskGb: 1 },
    home: "/home/user",
    on: onComputers,
  },
]
