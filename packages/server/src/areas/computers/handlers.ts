import { areas, COMPUTERS_MAX, pageOf, reply } from "@svc/contract"
import type { Hosts } from "../../core/hosts/hosts.ts"
import type { Images } from "../../core/images/images.ts"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import { sealEnv } from "../../core/workloads/env.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { checkHost, ownerOf } from "../../core/workloads/lookup.ts"
import { MB } from "../../core/workloads/shape.ts"
import type { Terminals } from "../../core/workloads/terminals.ts"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid, newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { type ComputerItem, envOf } from "./items.ts"
import type { Lifecycle } from "./lifecycle.ts"
import { found } from "./lookup.ts"
import { type SshAddress, toComputer } from "./payloads.ts"
import { eventOf } from "./records.ts"
import { type CreateInput, checkName, placeOf, planOf } from "./rules.ts"
import type { SshGateway } from "./ssh/gateway.ts"
import { deliverKeys, readPublicKeys } from "./ssh-keys.ts"
import { type ComputerRow, computerStore } from "./store.ts"
import { useHandlers } from "./use-handlers.ts"

export interface ComputerHandlerNeeds {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly images: Images
  readonly box: SecretBox
  readonly platformEvents: PlatformEvents
  readonly changes: Changes
  readonly fleet: Fleet<ComputerItem>
  readonly terminals: Terminals<ComputerItem>
  readonly lifecycle: Lifecycle
  /** How computers are reached by ssh; undefined where they are not. */
  readonly ssh: (SshAddress & Pick<SshGateway, "keysChanged">) | undefined
}

/** News of a computer that was deleted where it does not run. */
export const DELETED_TOPIC = "computer_deleted"

const auditTarget = ({ id, name }: Pick<ComputerRow, "id" | "name">) => ({ type: "computer", id, name })

/** Makes the computer of that name, unless there is one: then undefined. */
const makeWith =
  ({ runtime, hosts, images, box, platformEvents, lifecycle }: ComputerHandlerNeeds) =>
  async (name: string, input: CreateInput, call: Call): Promise<ComputerRow | undefined> => {
    const { organization, project, owner, now, db } = call
    const { env = {} } = input
    const { labels, ssh_keys, ...plan } = planOf(input, runtime.capabilities)
    images.check(plan.image)
    const store = computerStore(db)
    const id = newId()
    const row = await store.insert({
      ...plan,
      ...{ id, name, organization_id: organization.id, owner_id: owner, project_id: project?.id ?? null },
      ...{ host_id: hosts.id, status: "CREATING", status_reason: null, host_lost: false, image_digest: null },
      ...{ labels: JSON.stringify(labels), ssh_keys: [...ssh_keys] },
      env: await sealEnv(box, { organizationId: organization.id, kind: "computer", id }, env),
      env_names: Object.keys(env),
      private_ip: await store.nextAddress(),
      isolation: runtime.capabilities.isolation,
      ...{ last_activity_at: null, started_at: null, stopped_at: null, created_at: now, updated_at: now },
    })
    if (!row) return undefined
    if ((await store.count(organization.id)) > COMPUTERS_MAX)
      throw fault("plan_limit_reached", { limit: COMPUTERS_MAX, resources: "computers" })
    const room = hosts.reserve({ memoryBytes: plan.memory_mb * MB })
    call.rolledBack(() => room[Symbol.dispose]())
    await platformEvents.emit(db, eventOf("computer.created", row))
    call.committed(() => lifecycle.launchSoon(row, env, room))
    call.describe({ targets: [auditTarget(row)] })
    return row
  }

const lifeHandlers = (
  needs: ComputerHandlerNeeds,
  shown: (row: ComputerRow) => ReturnType<typeof toComputer>,
) => {
  const { hosts, box, platformEvents, changes, fleet, lifecycle, ssh } = needs
  return {
    delete: async ({ id }: { id: string }, call: Call) => {
      const row = isUuid(id) ? await computerStore(call.db).delete(ownerOf(call), id) : undefined
      if (!row) throw fault("computer_not_found", { id })
      await platformEvents.emit(call.db, eventOf("computer.deleted", row))
      if (row.host_id === hosts.id) call.committed(() => fleet.withLock(id, () => fleet.destroy(id)))
      else await changes.announce(call.db, DELETED_TOPIC, id)
      call.describe({ targets: [auditTarget(row)] })
    },

    start: async ({ id }: { id: string }, call: Call) => {
      const row = await found(call, id)
      checkHost(row, hosts)
      call.describe({ targets: [auditTarget(row)] })
      if (row.status === "RUNNING" && fleet.find(id)) return shown(row)
      return shown(await lifecycle.launch(row, await envOf(box, row)))
    },

    stop: async ({ id }: { id: string }, call: Call) => {
      const row = await found(call, id)
      checkHost(row, hosts)
      call.describe({ targets: [auditTarget(row)] })
      await fleet.withLock(id, async () => {
        const live = fleet.find(id)
        await fleet.stop(id)
        await lifecycle.recordStop(row, null, live)
      })
      return shown(await found(call, id))
    },

    /** What could not be delivered is not stored either: the delivery is part of the transaction. */
    setSshKeys: async ({ id, ssh_keys }: { id: string; ssh_keys: readonly string[] }, call: Call) => {
      const keys = readPublicKeys(ssh_keys)
      const row = await found(call, id, "lock")
      checkHost(row, hosts)
      const changes = { ssh_keys: keys, updated_at: call.now }
      const changed = await computerStore(call.db).update(row.organization_id, id, changes)
      const live = fleet.find(id)
      if (live) await deliverOver(live.guest, row.ssh_keys, keys)
      call.committed(() => ssh?.keysChanged(id, keys))
      call.describe({ targets: [auditTarget(row)] })
      return shown(changed ?? row)
    },
  }
}

/** Puts the old list back where only half of the new one arrived. */
const deliverOver = async (
  guest: Parameters<typeof deliverKeys>[0],
  old: readonly string[],
  keys: readonly string[],
): Promise<void> => {
  try {
    await deliverKeys(guest, keys)
  } catch (error) {
    await deliverKeys(guest, old).catch(() => undefined)
    throw fault("ssh_keys_not_delivered", undefined, { internal: error })
  }
}

export const computerHandlers = implement(areas.computers, (needs: ComputerHandlerNeeds) => {
  const makeHere = makeWith(needs)
  const make = (name: string, input: CreateInput, call: Call) =>
    needs.hosts.orElsewhere(placeOf(input), () => makeHere(name, input, call))
  const shown = (row: ComputerRow) => toComputer(row, needs.fleet.find(row.id)?.lastUsedMs, needs.ssh)
  return {
    ...useHandlers(needs),
    ...lifeHandlers(needs, shown),

    async create({ name, ...input }, call) {
      const row = await make(checkName(name), input, call)
      if (!row) throw fault("name_taken", { resource: "computer", name })
      return shown(row)
    },

    async getOrCreate({ name, ...input }, call) {
      const owner = ownerOf(call)
      const store = computerStore(call.db)
      const known = await store.findByName(owner, checkName(name))
      if (known) return reply(200, shown(known))
      const made = await make(name, input, call)
      if (made) return reply(201, shown(made))
      // Somebody was faster.
      const other = await store.findByName(owner, name)
      if (!other) throw fault("service_unavailable")
      return reply(200, shown(other))
    },

    async list(input, call) {
      const { rows, total } = await computerStore(call.db).list(ownerOf(call), pageOf(input))
      return { computers: rows.map(shown), total }
    },

    get: async ({ id }, call) => shown(await found(call, id)),
  }
})
