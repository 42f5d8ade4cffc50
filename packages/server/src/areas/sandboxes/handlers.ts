import { areas, pageOf, SANDBOXES_MAX } from "@svc/contract"
import type { Hosts } from "../../core/hosts/hosts.ts"
import type { Images } from "../../core/images/images.ts"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import { sealEnv } from "../../core/workloads/env.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { checkHost, ownerOf } from "../../core/workloads/lookup.ts"
import type { PortUrls } from "../../core/workloads/port-urls.ts"
import type { Terminals } from "../../core/workloads/terminals.ts"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid, newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { envOf, type SandboxItem } from "./items.ts"
import type { Lifecycle } from "./lifecycle.ts"
import { found, notRunning } from "./lookup.ts"
import { toSandbox } from "./payloads.ts"
import { eventOf } from "./records.ts"
import { type CreateInput, cwdIn, extendedDeadline, type Plan, placeOf, planOf, specOf } from "./rules.ts"
import { type SandboxRow, sandboxStore } from "./store.ts"
import { useHandlers } from "./use-handlers.ts"
import type { WarmPool } from "./warm-pool.ts"

export interface SandboxHandlerNeeds {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly images: Images
  readonly box: SecretBox
  readonly platformEvents: PlatformEvents
  readonly changes: Changes
  readonly fleet: Fleet<SandboxItem>
  readonly terminals: Terminals<SandboxItem>
  readonly pool: WarmPool
  readonly lifecycle: Lifecycle
  readonly portUrls: PortUrls | undefined
}

/** News of a sandbox that was deleted where it does not run. */
export const DELETED_TOPIC = "sandbox_deleted"

const auditTarget = ({ id, name }: Pick<SandboxRow, "id" | "name">) => ({
  ...{ type: "sandbox", id },
  ...(name !== null && { name }),
})

const newRow = (
  plan: Plan,
  call: Call,
  fixed: Pick<SandboxRow, "id" | "host_id" | "isolation" | "image_digest" | "cwd" | "env" | "env_names">,
) => {
  const { organization, project, owner, now } = call
  const { network, labels, ports, ...columns } = plan
  return {
    ...columns,
    ...fixed,
    ...{ organization_id: organization.id, owner_id: owner, project_id: project?.id ?? null },
    ...{ network: JSON.stringify(network), labels: JSON.stringify(labels), ports: [...ports] },
    ...{ stop_reason: null, status_reason: null, last_activity_at: null, stopped_at: null },
    ...{ created_at: now, updated_at: now },
  }
}

/** How it begins: one that runs already is running from now on. */
const beginning = ({ timeout_seconds }: Plan, isWarm: boolean, now: Date, provisionMs: number) => {
  if (!isWarm)
    return {
      status: "PROVISIONING",
      cold_start: null,
      provision_ms: null,
      expires_at: null,
      started_at: null,
    }
  return {
    ...{ status: "RUNNING", cold_start: false, provision_ms: provisionMs, started_at: now },
    expires_at: timeout_seconds === null ? null : new Date(now.getTime() + timeout_seconds * 1000),
  }
}

const createWith = (needs: SandboxHandlerNeeds) => async (input: CreateInput, call: Call) => {
  const { runtime, hosts, images, pool, lifecycle, box, platformEvents, portUrls } = needs
  const beganMs = performance.now()
  const { env = {} } = input
  const plan = planOf(input, runtime.capabilities)
  if (plan.ports.length > 0 && !portUrls)
    throw fault("not_implemented", { reason: "ports have no URLs without SVC_SANDBOX_DOMAIN" })
  const store = sandboxStore(call.db)
  if ((await store.count(call.organization.id)) >= SANDBOXES_MAX)
    throw fault("plan_limit_reached", { limit: SANDBOXES_MAX, resources: "sandboxes" })
  images.check(plan.template)
  const image = images.find(plan.template)
  const spec = specOf(plan, (image ?? images.host).root)
  const member = image && pool.take(spec)
  const place = member ?? hosts.reserve({ memoryBytes: spec.memoryBytes })
  call.rolledBack(() => ("guest" in place ? pool.drop(place) : place[Symbol.dispose]()))
  const id = member?.id ?? newId()
  const row = await store.insert({
    ...newRow(plan, call, {
      ...{ id, host_id: hosts.id, isolation: runtime.capabilities.isolation },
      ...(image
        ? { image_digest: image.digest, cwd: plan.cwd ?? cwdIn(image.config) }
        : { image_digest: null, cwd: plan.cwd }),
      env: await sealEnv(box, { organizationId: call.organization.id, kind: "sandbox", id }, env),
      env_names: Object.keys(env),
    }),
    ...beginning(plan, member !== undefined, call.now, Math.round(performance.now() - beganMs)),
  })
  if (member) await platformEvents.emit(call.db, eventOf("sandbox.started", row))
  call.committed(() => lifecycle.begin(row, env, place, image))
  call.describe({ targets: [auditTarget(row)] })
  return toSandbox(row, { isEnding: false, lastUsedMs: undefined, urls: portUrls })
}

const lifeHandlers = (
  needs: SandboxHandlerNeeds,
  shown: (row: SandboxRow) => ReturnType<typeof toSandbox>,
) => {
  const { hosts, box, platformEvents, changes, fleet, lifecycle } = needs
  return {
    delete: async ({ id }: { id: string }, call: Call) => {
      const row = isUuid(id) ? await sandboxStore(call.db).delete(ownerOf(call), id) : undefined
      if (!row) throw fault("sandbox_not_found", { id })
      if (row.status === "RUNNING") await platformEvents.emit(call.db, eventOf("sandbox.stopped", row))
      if (row.host_id === hosts.id) call.committed(() => fleet.withLock(id, () => fleet.destroy(id)))
      else await changes.announce(call.db, DELETED_TOPIC, id)
      call.describe({ targets: [auditTarget(row)] })
    },

    start: async ({ id }: { id: string }, call: Call) => {
      const row = await found(call, id)
      checkHost(row, hosts)
      call.describe({ targets: [auditTarget(row)] })
      if (row.status === "RUNNING" && fleet.find(id)) return shown(row)
      if (row.kind === "ephemeral" && (row.status === "STOPPED" || row.status === "FAILED"))
        throw fault("invalid_state_transition", { state: row.status })
      return shown(await lifecycle.launch(row, await envOf(box, row)))
    },

    stop: async ({ id }: { id: string }, call: Call) => {
      const row = await found(call, id)
      checkHost(row, hosts)
      call.describe({ targets: [auditTarget(row)] })
      await fleet.withLock(id, async () => {
        const live = fleet.find(id)
        await (row.kind === "ephemeral" ? fleet.destroy(id) : fleet.stop(id))
        await lifecycle.recordStop(row, "stopped", live)
      })
      return shown(await found(call, id))
    },

    extend: async ({ id, duration_seconds }: { id: string; duration_seconds: number }, call: Call) => {
      const row = await found(call, id)
      if (row.status !== "RUNNING" || fleet.isEnding(id)) throw notRunning(row.status)
      call.describe({ targets: [auditTarget(row)] })
      if (row.expires_at === null) return { ...shown(row), granted_seconds: null }
      const kind = row.kind === "persistent" ? "persistent" : "ephemeral"
      const nowMs = call.now.getTime()
      const expiresAtMs = extendedDeadline(kind, row.expires_at.getTime(), duration_seconds, nowMs)
      const changes = { expires_at: new Date(expiresAtMs), updated_at: call.now }
      const extended = await sandboxStore(call.db).update(row.organization_id, id, ["RUNNING"], changes)
      if (!extended) throw notRunning("STOPPED")
      call.committed(() => {
        const live = fleet.find(id)
        if (live) live.expiresAtMs = expiresAtMs
      })
      const grantedMs = expiresAtMs - row.expires_at.getTime()
      return { ...shown(extended), granted_seconds: Math.floor(grantedMs / 1000) }
    },
  }
}

export const sandboxHandlers = implement(areas.sandboxes, (needs: SandboxHandlerNeeds) => {
  const { fleet, hosts, portUrls: urls } = needs
  const create = createWith(needs)
  const shown = (row: SandboxRow) =>
    toSandbox(row, { isEnding: fleet.isEnding(row.id), lastUsedMs: fleet.find(row.id)?.lastUsedMs, urls })
  return {
    ...useHandlers(needs),
    ...lifeHandlers(needs, shown),
    create: (input, call) => hosts.orElsewhere(placeOf(input), () => create(input, call)),

    async list({ status, kind, ...input }, call) {
      const wanted = status?.toUpperCase()
      const listing = { ...pageOf(input), status: wanted, kind }
      const { rows, total } = await sandboxStore(call.db).list(ownerOf(call), listing)
      return { sandboxes: rows.map(shown), total }
    },

    get: async ({ id }, call) => shown(await found(call, id)),

    snapshot() {
      throw fault("snapshots_unavailable")
    },
  }
})
