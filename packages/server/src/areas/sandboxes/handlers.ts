import { areas, pageOf, SANDBOXES_MAX } from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import type { Images } from "../../services/images/images.ts"
import type { Workloads } from "../../services/workloads/workloads.ts"
import { toSandbox } from "./payloads.ts"
import { eventOf, type SandboxItem } from "./policy.ts"
import type { PortUrls } from "./ports/urls.ts"
import { type CreateInput, cwdIn, extendedDeadline, type Plan, placeOf, planOf, specOf } from "./rules.ts"
import { type SandboxRow, sandboxStore } from "./store.ts"
import { useHandlers } from "./use-handlers.ts"
import type { WarmPool } from "./warm-pool.ts"

export interface SandboxHandlerNeeds {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly images: Images
  readonly platformEvents: PlatformEvents
  readonly workloads: Workloads<SandboxRow, SandboxItem>
  readonly pool: WarmPool
  readonly portUrls: PortUrls | undefined
}

/** The columns of its beginning: one from the warm pool is running from now on. */
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
    status: "RUNNING",
    cold_start: false,
    provision_ms: provisionMs,
    started_at: now,
    expires_at: timeout_seconds === null ? null : new Date(now.getTime() + timeout_seconds * 1000),
  }
}

const createWith = (needs: SandboxHandlerNeeds) => async (input: CreateInput, call: Call) => {
  const { runtime, hosts, images, pool, workloads, platformEvents, portUrls } = needs
  const beganMs = performance.now()
  const { env = {} } = input
  const plan = planOf(input, runtime.capabilities)
  if (plan.ports.length > 0 && !portUrls)
    throw fault("not_implemented", { reason: "ports have no URLs without SVC_SANDBOX_DOMAIN" })
  if ((await workloads.store(call.db).count(call.organization.id)) >= SANDBOXES_MAX)
    throw fault("plan_limit_reached", { limit: SANDBOXES_MAX, resources: "sandboxes" })
  images.check(plan.template)
  const image = images.find(plan.template)
  const spec = specOf(plan, (image ?? images.host).root)
  const member = image && pool.take(spec)
  const place = member ?? hosts.reserve({ memoryBytes: spec.memoryBytes })
  call.rolledBack(() => ("guest" in place ? pool.drop(place) : place[Symbol.dispose]()))
  const { network, labels, ports, ...columns } = plan
  const row = await sandboxStore(call.db).insert({
    ...columns,
    ...(await workloads.calls.newColumns(call, member?.id ?? newId(), env)),
    ...beginning(plan, member !== undefined, call.now, Math.round(performance.now() - beganMs)),
    network: JSON.stringify(network),
    labels: JSON.stringify(labels),
    ports: [...ports],
    image_digest: image?.digest ?? null,
    cwd: plan.cwd ?? (image ? cwdIn(image.config) : null),
    stop_reason: null,
  })
  if (member) await platformEvents.emit(call.db, eventOf("sandbox.started", row))
  call.committed(() => {
    if (image && "guest" in place) workloads.adopt(row, env, image, place, row.expires_at?.getTime() ?? null)
    else workloads.launchSoon(row, env, place as Disposable)
  })
  workloads.calls.describe(call, row)
  return toSandbox(row, { isEnding: false, lastUsedMs: undefined, urls: portUrls })
}

type Extension = { readonly id: string; readonly duration_seconds: number }

/** The row with its later deadline, and by how much that is later; null where it has no deadline. */
const extend = async (
  { calls, fleet, store }: SandboxHandlerNeeds["workloads"],
  { id, duration_seconds }: Extension,
  call: Call,
): Promise<{ readonly row: SandboxRow; readonly grantedMs: number | null }> => {
  const row = await calls.find(call, id)
  if (row.status !== "RUNNING" || fleet.isEnding(id)) throw calls.notRunning(row.status)
  calls.describe(call, row)
  if (row.expires_at === null) return { row, grantedMs: null }
  const kind = row.kind === "persistent" ? "persistent" : "ephemeral"
  const beforeMs = row.expires_at.getTime()
  const expiresAtMs = extendedDeadline(kind, beforeMs, duration_seconds, call.now.getTime())
  const changes = { expires_at: new Date(expiresAtMs), updated_at: call.now }
  const extended = await store(call.db).update(row.organization_id, id, changes, ["RUNNING"])
  if (!extended) throw calls.notRunning("STOPPED")
  call.committed(() => {
    const live = fleet.find(id)
    if (live) live.expiresAtMs = expiresAtMs
  })
  return { row: extended, grantedMs: expiresAtMs - beforeMs }
}

export const sandboxHandlers = implement(areas.sandboxes, (needs: SandboxHandlerNeeds) => {
  const { workloads, hosts, portUrls: urls } = needs
  const { calls, fleet } = workloads
  const create = createWith(needs)
  const shown = (row: SandboxRow) =>
    toSandbox(row, { isEnding: fleet.isEnding(row.id), lastUsedMs: fleet.find(row.id)?.lastUsedMs, urls })
  return {
    ...useHandlers(workloads.use),
    create: (input, call) => hosts.orElsewhere(placeOf(input), () => create(input, call)),

    async list({ status, kind, ...input }, call) {
      const wanted = { status: status?.toUpperCase(), kind }
      const { rows, total } = await workloads.store(call.db).list(call.tenant, pageOf(input), wanted)
      return { sandboxes: rows.map(shown), total }
    },

    get: async ({ id }, call) => shown(await calls.find(call, id)),
    delete: ({ id }, call) => calls.delete(call, id),
    start: async ({ id }, call) => shown(await calls.start(call, id)),
    stop: async ({ id }, call) => shown(await calls.stop(call, id)),

    async extend(input, call) {
      const { row, grantedMs } = await extend(workloads, input, call)
      return { ...shown(row), granted_seconds: grantedMs === null ? null : Math.floor(grantedMs / 1000) }
    },

    snapshot() {
      throw fault("snapshots_unavailable")
    },
  }
})
