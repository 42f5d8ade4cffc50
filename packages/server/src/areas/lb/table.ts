/** All load balancers by how they are reached, in memory; changes of any process are pushed to it. */
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Connect } from "../../services/proxy/upstream.ts"
import { type Balancer, createBalancer } from "./balancer.ts"
import type { configStore } from "./store.ts"

export const LB_TOPIC = "lb"

export interface Table extends Disposable {
  byHost(hostId: string): Balancer | undefined | Promise<Balancer | undefined>
  byId(id: string): Balancer | undefined
  all(): Iterable<Balancer>
  /** Called after each change. */
  onChange(hear: () => void): void
  /** Reads all of them. */
  load(): Promise<void>
}

const RETRY_MS = 1_000

export const createTable = (needs: {
  readonly configs: ReturnType<typeof configStore>
  readonly changes: Changes
  readonly connect: Connect
  readonly clock: Clock
  readonly log: Logger
}): Table => {
  const { configs, changes, connect, clock, log } = needs
  const byId = new Map<string, Balancer>()
  const byHost = new Map<string, Balancer>()
  const listeners: (() => void)[] = []
  /** Of each that is being read again: the last reading. One follows the other, so that the newest counts. */
  const readings = new Map<string, Promise<void>>()
  let loading: Promise<void> | undefined
  let isClosed = false

  const put = (config: Parameters<typeof createBalancer>[0]) => {
    const known = byId.get(config.id)
    if (known) return known.configure(config)
    const made = createBalancer(config, { connect, clock })
    byId.set(config.id, made)
    byHost.set(config.host_id, made)
  }
  const drop = (id: string) => {
    const known = byId.get(id)
    if (!known) return
    byId.delete(id)
    byHost.delete(known.config.host_id)
    known.close()
  }
  const told = () => {
    for (const hear of listeners) hear()
  }

  const readOne = async (id: string) => {
    const config = await configs.find(id)
    if (isClosed) return
    if (config) put(config)
    else drop(id)
    told()
  }

  const reread = (id: string) => {
    const reading = (readings.get(id) ?? Promise.resolve())
      .then(() => readOne(id))
      .catch(error => {
        log.warn({ err: error, load_balancer: id }, "reading a load balancer failed; will retry")
        setTimeout(() => isClosed || reread(id), RETRY_MS).unref()
      })
      .finally(() => {
        if (readings.get(id) === reading) readings.delete(id)
      })
    readings.set(id, reading)
    return reading
  }

  const load = async () => {
    const found = new Set<string>()
    for await (const page of configs.all()) {
      for (const config of page) {
        found.add(config.id)
        if (!isClosed) put(config)
      }
    }
    for (const id of [...byId.keys()]) if (!found.has(id) && !readings.has(id)) drop(id)
    told()
  }
  const reloadAll = () => {
    if (loading) return
    loading = load()
      .catch(error => {
        log.warn({ err: error }, "reading the load balancers failed; will retry")
        setTimeout(() => isClosed || reloadAll(), RETRY_MS).unref()
      })
      .finally(() => {
        loading = undefined
      })
  }

  changes.subscribe(LB_TOPIC, id => {
    if (isClosed) return
    if (id === undefined) reloadAll()
    else void reread(id)
  })
  changes.subscribe("project", async projectId => {
    if (isClosed || projectId === undefined) return
    const ids = [...byId.values()]
      .filter(({ config }) => config.project_id === projectId)
      .map(({ config }) => config.id)
    for (const id of ids) void reread(id)
  })

  return {
    byHost(hostId) {
      const found = byHost.get(hostId)
      const reading = found && readings.get(found.config.id)
      if (found && !reading) return found
      // What was just made or changed is being read.
      const waited = reading ?? (readings.size > 0 ? Promise.all(readings.values()) : undefined)
      return waited ? waited.then(() => byHost.get(hostId)) : undefined
    },
    byId: id => byId.get(id),
    all: () => byId.values(),
    onChange: hear => void listeners.push(hear),
    load,
    [Symbol.dispose]() {
      isClosed = true
      for (const balancer of byId.values()) balancer.close()
    },
  }
}
