import { areas, COMPUTERS_MAX, pageOf, reply } from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import type { Guest, RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import type { Images } from "../../services/images/images.ts"
import { MB } from "../../services/workloads/shape.ts"
import type { Workloads } from "../../services/workloads/workloads.ts"
import { type SshAddress, toComputer } from "./payloads.ts"
import { type ComputerItem, eventOf } from "./policy.ts"
import { type CreateInput, checkName, placeOf, planOf } from "./rules.ts"
import type { SshGateway } from "./ssh/gateway.ts"
import { deliverKeys, readPublicKeys } from "./ssh-keys.ts"
import { type ComputerRow, computerStore } from "./store.ts"
import { useHandlers } from "./use-handlers.ts"

export interface ComputerHandlerNeeds {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly images: Images
  readonly platformEvents: PlatformEvents
  readonly workloads: Workloads<ComputerRow, ComputerItem>
  /** How computers are reached by ssh; undefined where they are not. */
  readonly ssh: (SshAddress & Pick<SshGateway, "keysChanged">) | undefined
}

/** Creates the computer of that name, unless there is one: then undefined. */
const createWith =
  ({ runtime, hosts, images, platformEvents, workloads }: ComputerHandlerNeeds) =>
  async (name: string, input: CreateInput, call: Call): Promise<ComputerRow | undefined> => {
    const { organization, db } = call
    const { env = {} } = input
    const { labels, ssh_keys, ...plan } = planOf(input, runtime.capabilities)
    images.check(plan.image)
    const store = computerStore(db)
    const row = await store.insert({
      ...plan,
      ...(await workloads.calls.newColumns(call, newId(), env)),
      name,
      status: "CREATING",
      started_at: null,
      host_lost: false,
      image_digest: null,
      labels: JSON.stringify(labels),
      ssh_keys: [...ssh_keys],
      private_ip: await store.nextAddress(),
    })
    if (!row) return undefined
    if ((await workloads.store(db).count(organization.id)) > COMPUTERS_MAX)
      throw fault("plan_limit_reached", { limit: COMPUTERS_MAX, resources: "computers" })
    const room = hosts.reserve({ memoryBytes: plan.memory_mb * MB })
    call.rolledBack(() => room[Symbol.dispose]())
    await platformEvents.emit(db, eventOf("computer.created", row))
    call.committed(() => workloads.launchSoon(row, env, room))
    workloads.calls.describe(call, row)
    return row
  }

/** Puts the old list back where only half of the new one arrived. */
const deliverOver = async (guest: Guest, old: readonly string[], keys: readonly string[]): Promise<void> => {
  try {
    await deliverKeys(guest, keys)
  } catch (error) {
    await deliverKeys(guest, old).catch(() => undefined)
    throw fault("ssh_keys_not_delivered", undefined, { internal: error })
  }
}

/** What could not be delivered is not stored either: the delivery is part of the transaction. */
const setSshKeys = async (
  { workloads: { calls, fleet, store }, ssh }: ComputerHandlerNeeds,
  { id, ssh_keys }: { readonly id: string; readonly ssh_keys: readonly string[] },
  call: Call,
): Promise<ComputerRow> => {
  const keys = readPublicKeys(ssh_keys)
  const row = await calls.findForUpdate(call, id)
  const changes = { ssh_keys: keys, updated_at: call.now }
  const changed = await store(call.db).update(row.organization_id, id, changes)
  const live = fleet.find(id)
  if (live) await deliverOver(live.guest, row.ssh_keys, keys)
  call.committed(() => ssh?.keysChanged(id, keys))
  return changed ?? row
}

export const computerHandlers = implement(areas.computers, (needs: ComputerHandlerNeeds) => {
  const { workloads, hosts, ssh } = needs
  const { calls, fleet } = workloads
  const createHere = createWith(needs)
  const create = (name: string, input: CreateInput, call: Call) =>
    hosts.orElsewhere(placeOf(input), () => createHere(name, input, call))
  const shown = (row: ComputerRow) => toComputer(row, fleet.find(row.id)?.lastUsedMs, ssh)
  return {
    ...useHandlers(workloads.use),

    async create({ name, ...input }, call) {
      const row = await create(checkName(name), input, call)
      if (!row) throw fault("name_taken", { resource: "computer", name })
      return shown(row)
    },

    async getOrCreate({ name, ...input }, call) {
      const owner = call.tenant
      const store = computerStore(call.db)
      const known = await store.findByName(owner, checkName(name))
      if (known) return reply(200, shown(known))
      const created = await create(name, input, call)
      if (created) return reply(201, shown(created))
      // Another call was faster.
      const other = await store.findByName(owner, name)
      if (!other) throw fault("service_unavailable")
      return reply(200, shown(other))
    },

    async list(input, call) {
      const { rows, total } = await workloads.store(call.db).list(call.tenant, pageOf(input))
      return { computers: rows.map(shown), total }
    },

    get: async ({ id }, call) => shown(await calls.find(call, id)),
    delete: ({ id }, call) => calls.delete(call, id),
    start: async ({ id }, call) => shown(await calls.start(call, id)),
    stop: async ({ id }, call) => shown(await calls.stop(call, id)),
    setSshKeys: async (input, call) => shown(await setSshKeys(needs, input, call)),
  }
})
