/** In what computers differ from other workloads. */
import { expressionBuilder } from "kysely"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { Logger } from "../../kernel/log.ts"
import type { CommandWorkload, StopReason, WorkloadPolicy } from "../../services/workloads/policy.ts"
import { HOME, specOf } from "./rules.ts"
import { deliverKeys } from "./ssh-keys.ts"
import type { ComputerRow } from "./store.ts"

export type ComputerItem = CommandWorkload

/** What `status_reason` says of one that stopped. */
const reasons: Readonly<Record<StopReason, string | null>> = {
  stopped: null,
  deadline: null,
  idle: "nobody used it for auto_stop_seconds",
  out_of_memory: "it ran out of memory",
  died: "it ended by itself",
}

type ComputerEvent = "computer.created" | "computer.started" | "computer.stopped" | "computer.deleted"

export const eventOf = (type: ComputerEvent, { id, name, organization_id, project_id }: ComputerRow) => ({
  organizationId: organization_id,
  projectId: project_id,
  type,
  data: { computer_id: id, name },
})

const eb = expressionBuilder<Tables, "computers.computers">()

export const createComputerPolicy = (log: Logger): WorkloadPolicy<ComputerRow, ComputerItem> => ({
  resource: "computer",
  table: "computers.computers",
  states: {
    starting: "CREATING",
    failed: "ERROR",
    stoppable: ["CREATING", "RUNNING", "ERROR"],
    ending: "STOPPED",
  },
  hostLost: eb("host_lost", "=", true),
  faults: { notFound: "computer_not_found", notRunning: "computer_not_running" },
  imageOf: ({ image }) => image,
  isPersistent: () => true,
  timeoutMsOf: () => null,
  toItem: (row, env, { root, config }, capabilities) => ({
    spec: specOf(row, capabilities, root),
    organizationId: row.organization_id,
    ownerId: row.owner_id,
    projectId: row.project_id,
    idleMs: row.auto_stop_seconds * 1000,
    defaults: { cwd: HOME, user: "user", env: { ...config.env, ...env } },
  }),
  eventOf: (change, row) => eventOf(`computer.${change}`, row),
  changes: {
    started: () => ({ host_lost: false }),
    stopped: reason => ({ host_lost: false, status_reason: reasons[reason] }),
    failed: () => ({ host_lost: false }),
    hostLost: () => ({ host_lost: true, status_reason: "its host is gone" }),
  },
  /** The keys as they are now: they may have been replaced while it started. */
  afterStart: ({ guest }, { id, ssh_keys }) =>
    deliverKeys(guest, ssh_keys).catch(error =>
      log.warn({ err: error, computer: id }, "installing ssh keys on a started computer failed"),
    ),
})
