/** What requests and replies about sandboxes are made of. */
import { type Static, T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"
import { EnvNames, GuestUser, ImageDigest, Labels, sandboxShape } from "./workload-fields.ts"

/** Largest number per organization, running or persistent. */
export const SANDBOXES_MAX = 1_000
export const SANDBOX_IDLE_SECONDS_DEFAULT = 120
/** Largest file that is uploaded as raw bytes. */
export const SANDBOX_FILE_BYTES_MAX = 1024 ** 3
export const SANDBOX_PORTS_MAX = 16
/** Hours for which an ephemeral sandbox that has ended is listed. */
export const SANDBOX_KEPT_HOURS = 24

export const sandboxKinds = ["ephemeral", "persistent"] as const
export type SandboxKind = (typeof sandboxKinds)[number]
export const sandboxStatuses = ["PROVISIONING", "RUNNING", "STOPPING", "STOPPED", "FAILED"] as const
export type SandboxStatus = (typeof sandboxStatuses)[number]
export const sandboxStopReasons = [
  "idle_timeout",
  "deadline",
  "oom",
  "error",
  "stopped",
  "host_lost",
] as const
export type SandboxStopReason = (typeof sandboxStopReasons)[number]

export const One = T.Object({ id: Id })
export const NOT_USABLE = [
  "sandbox_not_found",
  "sandbox_not_running",
  "host_unavailable",
  "service_unavailable",
] as const

export const Network = T.Object(
  {
    mode: OneOf(["allow_all", "deny_all", "custom"], { description: "Which addresses can be reached" }),
    allow: T.Optional(
      T.Array(T.String({ minLength: 1, maxLength: 253 }), {
        maxItems: 256,
        description: "Domains and CIDR ranges that `custom` allows; none when left out",
      }),
    ),
    deny: T.Optional(
      T.Array(T.String({ minLength: 1, maxLength: 253 }), {
        maxItems: 256,
        description: "CIDR ranges that `custom` denies; none when left out",
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      "Outgoing network access. `allow_all`: all public addresses. `custom`: the domains and CIDRs in `allow` except the CIDRs in `deny`. " +
      "Private addresses, the host and other tenants cannot be reached. Left out: the most that the installation allows",
  },
)

const sandboxFields = {
  id: Id,
  kind: OneOf(sandboxKinds, {
    description:
      "`ephemeral`: nothing is left when it ends; `persistent`: its disk stays until it is deleted",
  }),
  name: Nullable(T.String(), { description: "Name; null if it was given none" }),
  status: OneOf(sandboxStatuses, { description: "`FAILED`: it could not start; `status_reason` says why" }),
  stop_reason: Nullable(OneOf(sandboxStopReasons), { description: "Why it ended; null while it runs" }),
  status_reason: Nullable(T.String(), { description: "Details of a failure; null without one" }),
  project_id: Nullable(Id, { description: "Project it belongs to; null for the organization" }),
  host_id: described(Id, "Machine of the installation that it runs on"),
  template: T.String({ description: "Template or image that it was created from" }),
  image_digest: ImageDigest,
  ...sandboxShape,
  timeout_seconds: Nullable(
    T.Integer({ description: "Seconds until the hard deadline, from the start; null for none" }),
  ),
  idle_timeout_seconds: T.Integer({
    description: "Seconds of inactivity after which it is stopped; 0: never",
  }),
  env_names: EnvNames,
  labels: Labels,
  cwd: T.String({ description: "Working directory of commands that name none" }),
  user: described(GuestUser, "User of commands that name none"),
  network: T.Object(
    {
      mode: OneOf(["allow_all", "deny_all", "custom"], { description: "Which addresses can be reached" }),
      allow: T.Array(T.String(), { description: "Domains and CIDR ranges that `custom` allows" }),
      deny: T.Array(T.String(), { description: "CIDR ranges that `custom` denies" }),
    },
    { description: "Addresses that it can reach" },
  ),
  ports: T.Array(T.Integer(), { description: "Ports that have URLs" }),
  urls: T.Array(
    T.Object({
      port: T.Integer({ description: "The port" }),
      url: T.String({ description: "URL of the server on it" }),
    }),
    {
      description:
        "URLs of its ports while it runs; anyone with a URL can use it, and URLs cannot be guessed",
    },
  ),
  isolation: OneOf(["process", "container", "gvisor", "microvm-emulated", "microvm"], {
    description: "How it is isolated from its host",
  }),
  cold_start: Nullable(
    T.Boolean({ description: "False if it was taken from the warm pool; null before it runs" }),
  ),
  provision_ms: Nullable(
    T.Integer({ description: "Milliseconds from the request until it ran; null before it runs" }),
  ),
  expires_at: Nullable(Time, { description: "RFC 3339 time in UTC of the hard deadline; null for none" }),
  last_activity_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last call that used it; null before the first",
  }),
  created_at: Time,
  updated_at: Time,
  started_at: Nullable(Time, { description: "RFC 3339 time in UTC of the last start; null before it runs" }),
  stopped_at: Nullable(Time, { description: "RFC 3339 time in UTC of its end; null while it runs" }),
}
export const Sandbox = T.Object(sandboxFields)
export const ExtendedSandbox = T.Object({
  ...sandboxFields,
  granted_seconds: Nullable(
    T.Integer({
      minimum: 0,
      description: "Seconds that were added, possibly fewer than requested; null without a deadline",
    }),
  ),
})
export type SandboxPayload = Static<typeof Sandbox>
