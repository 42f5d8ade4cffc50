import { randomBytes } from "node:crypto"
import { areas, type Input, LB_BACKENDS_MAX, LOAD_BALANCERS_MAX, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { withDefaults } from "./config.ts"
import { type Live, toBackend, toBalancer } from "./payloads.ts"
import type { PortRange } from "./settings.ts"
import { type BackendRow, type BalancerRow, lbStore } from "./store.ts"
import { LB_TOPIC, type Table } from "./table.ts"

type Specs = typeof areas.lb.specs
type BackendInput = Omit<Input<Specs["addBackend"]>, "id">
type UpdateInput = Omit<Input<Specs["update"]>, "id">

export interface LbHandlerNeeds {
  readonly changes: Changes
  readonly outbound: Outbound
  readonly table: Table
  readonly live: Live
  readonly ports: PortRange | undefined
}

const target = ({ id, name }: BalancerRow) => ({ type: "load_balancer", id, name })
const storeOf = (call: Call) => lbStore(call.db)

const find = (call: Call, id: string, how: "find" | "findForUpdate" = "find"): Promise<BalancerRow> =>
  requireRow(storeOf(call)[how](call.projectTenant.projectId, id), "load_balancer_not_found", { id })

const findBackend = (call: Call, id: string, backendId: string): Promise<BackendRow> =>
  requireRow(storeOf(call).findBackend(call.projectTenant.projectId, id, backendId), "backend_not_found", {
    id: backendId,
  })

const backendsOf = (call: Call, id: string) => storeOf(call).backendsOf(call.projectTenant.projectId, [id])

/** The address as it is stored, once it may be connected to. */
const checkAddress = ({ outbound }: LbHandlerNeeds, { address, port }: BackendInput): string => {
  const host = address.toLowerCase().replace(/\.$/, "")
  const named = host.includes(":") ? `[${host}]` : host
  if (!/^[a-z0-9_.-]+$|^\[[0-9a-f:.]+\]$/.test(named))
    throw fault("invalid_backend", { reason: "`address` is neither a host name nor an address" })
  // Judged like URLs that users give, but for the protocol: that is the user's own choice here.
  const problem = outbound.urlProblem(`https://${named}:${port}/`)
  if (problem !== undefined) throw fault("invalid_backend", { reason: problem })
  return host
}

const backendRow = (
  needs: LbHandlerNeeds,
  input: BackendInput,
  { id: load_balancer_id, project_id }: Pick<BalancerRow, "id" | "project_id">,
  now: Date,
): BackendRow => ({
  ...{ id: newId(), load_balancer_id, project_id, address: checkAddress(needs, input), port: input.port },
  ...{ protocol: input.protocol ?? "http", weight: input.weight ?? 1 },
  ...{ max_connections: input.max_connections ?? 256, enabled: input.enabled ?? true },
  ...{ created_at: now, updated_at: now },
})

const insertBackends = async (call: Call, rows: readonly BackendRow[]): Promise<void> => {
  try {
    await storeOf(call).insertBackends(rows)
  } catch (error) {
    if (!isUniqueViolation(error, "backends_address")) throw error
    throw fault("invalid_backend", { reason: "the load balancer has a backend of this address and port" })
  }
}

const checkPort = ({ ports }: LbHandlerNeeds, port: number | null | undefined): void => {
  if (port === null || port === undefined) return
  if (!ports)
    throw fault("invalid_parameter", {
      reason: "listen_port: no ports are open here; the operator sets SVC_LB_PORTS",
    })
  if (port < ports.first || port > ports.last)
    throw fault("invalid_parameter", { reason: `listen_port must be from ${ports.first} to ${ports.last}` })
}

const checkHostnames = (hostnames: readonly string[], port: number | null): void => {
  if (hostnames.length > 0 && port === null)
    throw fault("invalid_parameter", { reason: "hostnames are for load balancers with a listen_port" })
}

const orPortTaken = async (port: number | null | undefined, write: Promise<unknown>): Promise<void> => {
  try {
    await write
  } catch (error) {
    if (!isUniqueViolation(error, "load_balancers_listen_port")) throw error
    throw fault("invalid_parameter", { reason: `listen_port: another load balancer has port ${port}` })
  }
}

const changesOf = (input: UpdateInput): Partial<BalancerRow> => {
  const { health_check, sticky_sessions, ...fields } = input
  return {
    ...(Object.fromEntries(
      Object.entries(fields).filter(([, value]) => value !== undefined),
    ) as typeof fields),
    ...(health_check && { health_check: withDefaults.healthCheck(health_check) }),
    ...(sticky_sessions && { sticky_sessions: withDefaults.sticky(sticky_sessions) }),
  } as Partial<BalancerRow>
}

const newRow = (input: Input<Specs["create"]>, call: Call): BalancerRow => ({
  id: newId(),
  organization_id: call.projectTenant.organizationId,
  project_id: call.projectTenant.projectId,
  name: input.name,
  host_id: randomBytes(6).toString("hex"),
  algorithm: input.algorithm ?? "round_robin",
  listen_port: input.listen_port ?? null,
  hostnames: input.hostnames ?? [],
  health_check: withDefaults.healthCheck(input.health_check),
  sticky_sessions: withDefaults.sticky(input.sticky_sessions),
  idle_timeout_seconds: input.idle_timeout_seconds ?? 60,
  drain_seconds: input.drain_seconds ?? 30,
  waf_enabled: input.waf_enabled ?? false,
  waf_mode: input.waf_mode ?? "block",
  created_at: call.now,
  updated_at: call.now,
})

const backendHandlers = (needs: LbHandlerNeeds) => ({
  async addBackend({ id, ...input }: Input<Specs["addBackend"]>, call: Call) {
    const { projectId } = call.projectTenant
    const balancer = await requireRow(storeOf(call).findForUpdate(projectId, id), "load_balancer_unknown", {
      id,
    })
    if ((await backendsOf(call, id)).length >= LB_BACKENDS_MAX)
      throw fault("invalid_parameter", { reason: `a load balancer has at most ${LB_BACKENDS_MAX} backends` })
    const row = backendRow(needs, input, balancer, call.now)
    await insertBackends(call, [row])
    await needs.changes.invalidate(call.db, LB_TOPIC, id)
    call.describe({ targets: [target(balancer)], metadata: { backend: `${row.address}:${row.port}` } })
    return toBackend(row, needs.live)
  },

  async updateBackend({ id, backend_id, ...input }: Input<Specs["updateBackend"]>, call: Call) {
    const balancer = await find(call, id, "findForUpdate")
    const before = await findBackend(call, id, backend_id)
    const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    const row: BackendRow = { ...before, ...given, updated_at: call.now }
    await storeOf(call).updateBackend(row.project_id, row.id, { ...given, updated_at: call.now })
    await needs.changes.invalidate(call.db, LB_TOPIC, id)
    call.describe({
      targets: [target(balancer)],
      metadata: { backend: `${row.address}:${row.port}`, ...given },
    })
    return toBackend(row, needs.live)
  },

  async removeBackend({ id, backend_id }: Input<Specs["removeBackend"]>, call: Call) {
    const balancer = await find(call, id, "findForUpdate")
    const row = await findBackend(call, id, backend_id)
    await storeOf(call).deleteBackend(row.project_id, row.id)
    await needs.changes.invalidate(call.db, LB_TOPIC, id)
    call.describe({ targets: [target(balancer)], metadata: { backend: `${row.address}:${row.port}` } })
    return { id: backend_id, deleted: true }
  },
})

export const lbHandlers = implement(areas.lb, (needs: LbHandlerNeeds) => ({
  ...backendHandlers(needs),

  async list(input, call) {
    const { projectId } = call.projectTenant
    const { rows, total } = await storeOf(call).list(projectId, pageOf(input))
    const backends = await storeOf(call).backendsOf(
      projectId,
      rows.map(({ id }) => id),
    )
    const byBalancer = Map.groupBy(backends, ({ load_balancer_id }) => load_balancer_id)
    return page(
      { rows: rows.map(row => toBalancer(row, byBalancer.get(row.id) ?? [], needs.live)), total },
      input,
    )
  },

  async create({ backends = [], ...input }, call) {
    checkPort(needs, input.listen_port)
    checkHostnames(input.hostnames ?? [], input.listen_port ?? null)
    if ((await storeOf(call).countToCreate(call.projectTenant.projectId)) >= LOAD_BALANCERS_MAX)
      throw fault("invalid_parameter", {
        reason: `a project has at most ${LOAD_BALANCERS_MAX} load balancers`,
      })
    const row = newRow(input, call)
    const rows = backends.map(backend => backendRow(needs, backend, row, call.now))
    await orPortTaken(row.listen_port, storeOf(call).insert(row))
    await insertBackends(call, rows)
    await needs.changes.invalidate(call.db, LB_TOPIC, row.id)
    call.describe({ targets: [target(row)] })
    return toBalancer(row, rows, needs.live)
  },

  async get({ id }, call) {
    const row = await find(call, id)
    return toBalancer(row, await backendsOf(call, id), needs.live)
  },

  async update({ id, ...input }, call) {
    checkPort(needs, input.listen_port)
    const before = await find(call, id, "findForUpdate")
    const change = changesOf(input)
    const row: BalancerRow = { ...before, ...change, updated_at: call.now }
    checkHostnames(row.hostnames, row.listen_port)
    await orPortTaken(
      row.listen_port,
      storeOf(call).update(row.project_id, id, { ...change, updated_at: call.now }),
    )
    await needs.changes.invalidate(call.db, LB_TOPIC, id)
    call.describe({ targets: [target(row)] })
    return toBalancer(row, await backendsOf(call, id), needs.live)
  },

  async delete({ id }, call) {
    const row = await find(call, id, "findForUpdate")
    await storeOf(call).delete(row.project_id, id)
    await needs.changes.invalidate(call.db, LB_TOPIC, id)
    call.describe({ targets: [target(row)] })
    return { id, deleted: true }
  },

  async logs({ id, after = 0, limit = 100 }, call) {
    await find(call, id)
    return needs.table.byId(id)?.log.list(after, limit) ?? { logs: [], next_cursor: 0 }
  },
}))
