/** Keeps the gateways of this host as the rows say: after each change, at each start, and when one of them ended by itself. */
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import { gatewayOf, readRange } from "./addresses.ts"
import { keyContext } from "./sealing.ts"
import { hostStore, type NetworkRow, type PeerRow, vpcStore } from "./store.ts"
import type { Gateway, PeerCounters, WireGuardEngine } from "./wireguard/engine.ts"

export const TOPIC = "vpc.networks"
const LOOK_EVERY_MS = 5_000

export interface Keeper extends AsyncDisposable {
  /** Resolves when the gateway is as its row says now; rejects where it cannot be. */
  settle(id: string): Promise<void>
  /** Why the gateway does not run; undefined where it does. */
  problemOf(id: string): string | undefined
  counters(id: string): Promise<ReadonlyMap<string, PeerCounters>>
}

export interface KeeperNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly clock: Clock
  readonly log: Logger
  readonly box: SecretBox
  readonly hostId: string
}

export const isActive = ({ enabled, expires_at }: PeerRow, now: Date): boolean =>
  enabled && (expires_at === null || expires_at > now)

/** Runs one act a key at a time; those that ask while one waits share it. */
const createTurns = (act: (key: string) => Promise<void>) => {
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()
  const begin = (key: string): Promise<void> => {
    waiting.delete(key)
    const done = act(key).finally(() => {
      if (running.get(key) === done) running.delete(key)
    })
    running.set(key, done)
    return done
  }
  return {
    take(key: string): Promise<void> {
      const before = running.get(key)
      if (!before) return begin(key)
      const known = waiting.get(key)
      if (known) return known
      const next = before.catch(() => undefined).then(() => begin(key))
      waiting.set(key, next)
      return next
    },
    idle: async () => {
      while (running.size > 0 || waiting.size > 0)
        await Promise.allSettled([...running.values(), ...waiting.values()])
    },
  }
}

const gatewayFor = (row: NetworkRow, privateKey: string, peers: readonly PeerRow[]): Gateway => {
  const range = readRange(row.cidr)
  if (!range) throw new Error(`${row.cidr} is not a range`)
  return {
    id: row.id,
    address: `${gatewayOf(range)}/${range.prefix}`,
    mtu: row.mtu,
    privateKey,
    listenPort: row.listen_port,
    routes: peers.flatMap(({ allowed_ips }) => allowed_ips),
    peers: peers.map(({ public_key, address, allowed_ips, endpoint }) => ({
      publicKey: public_key,
      allowedIps: [`${address}/32`, ...allowed_ips],
      endpoint,
    })),
  }
}

export const createKeeper = (needs: KeeperNeeds, engine: WireGuardEngine): Keeper => {
  const { database, changes, clock, log, box } = needs
  const host = hostStore(database.db, needs.hostId)
  const problems = new Map<string, string>()
  const known = new Set<string>()
  let closed = false
  let lookedAt = new Date(clock.now())

  const act = async (id: string) => {
    if (closed) return
    const row = await host.find(id)
    if (!row) {
      problems.delete(id)
      if (known.delete(id)) await engine.remove(id)
      return
    }
    known.add(id)
    try {
      const owner = { organizationId: row.organization_id, networkId: id }
      const peers = (await vpcStore(database.db).peers(owner)).filter(peer =>
        isActive(peer, new Date(clock.now())),
      )
      const privateKey = await box.open(row.organization_id, keyContext(id), row.private_key)
      await engine.apply(gatewayFor(row, privateKey, peers))
      problems.delete(id)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (problems.get(id) !== reason) log.warn({ err: error, vpc: id }, "a private network does not run")
      problems.set(id, reason)
      throw error
    }
  }
  const turns = createTurns(act)
  const settleQuietly = (ids: Iterable<string>) => Promise.allSettled([...ids].map(id => turns.take(id)))

  /** What a process before this one left running is known from then on, and removed where its row is gone. */
  const settleAll = async () => {
    const [rows, present] = await Promise.all([host.ids(), engine.list()])
    for (const id of present) known.add(id)
    await settleQuietly(new Set([...rows, ...present, ...known]))
  }

  const look = async () => {
    const until = new Date(clock.now())
    const expired = await host.expired(lookedAt, until)
    await host.forgetKeys(until)
    lookedAt = until
    const [rows, present] = await Promise.all([host.ids(), engine.list()])
    const running = new Set(present)
    const missing = rows.filter(id => !running.has(id))
    const left = present.filter(id => !rows.includes(id))
    for (const id of left) known.add(id)
    await settleQuietly(new Set([...expired, ...problems.keys(), ...missing, ...left]))
  }

  changes.subscribe(TOPIC, id => {
    if (closed) return
    const settled = id === undefined ? settleAll() : settleQuietly([id])
    settled.catch(error => log.warn({ err: error }, "looking after private networks failed"))
  })
  const ticker = every(clock, LOOK_EVERY_MS, look, {
    log,
    failure: "looking after private networks failed; will retry",
  })
  const first = settleAll().catch(error => log.warn({ err: error }, "starting private networks failed"))

  return {
    settle: id => turns.take(id),
    problemOf: id => problems.get(id),
    counters: id => engine.counters(id).catch(() => new Map()),
    async [Symbol.asyncDispose]() {
      closed = true
      await ticker[Symbol.asyncDispose]()
      await first
      await turns.idle()
      await Promise.allSettled([...known].map(id => engine.remove(id)))
    },
  }
}
