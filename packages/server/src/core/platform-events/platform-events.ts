import type { PlatformEventData, PlatformEventType } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"

/** Something that happened to a tenant, as webhooks and notices tell it. */
export interface PlatformEvent {
  /** The consumer's dedupe key. */
  readonly id: string
  readonly organizationId: string
  /** Null for what happened to the organization as a whole. */
  readonly projectId: string | null
  readonly type: PlatformEventType
  readonly occurredAt: Date
  readonly data: Readonly<Record<string, unknown>>
}

/** A listener of a started area that forwards events. */
export interface PlatformEventListener {
  /**
   * Whether anybody of the organization wants this type; undefined where that is not in memory. Every effect asks this
   * with a transaction open, so it must not wait: a transaction that waits for another connection can wait for itself.
   */
  wants(organizationId: string, type: PlatformEventType): boolean | undefined
  /**
   * Gets what is wanted, or may be. On the transaction of the effect: what it writes exists exactly if the effect does.
   * It reads by this transaction alone.
   */
  receive(db: Db, events: readonly PlatformEvent[]): Promise<void>
}

export interface NewPlatformEvent<Type extends PlatformEventType> {
  readonly organizationId: string
  readonly projectId: string | null
  readonly type: Type
  readonly data: PlatformEventData<Type>
}

export interface PlatformEvents {
  /** Whether emitting this may do anything: for callers whose effect needs no transaction otherwise. */
  isWanted(organizationId: string, type: PlatformEventType): boolean
  /** Call it with the transaction of the effect. Without listeners it costs nothing. */
  emit<Type extends PlatformEventType>(db: Db, ...events: readonly NewPlatformEvent<Type>[]): Promise<void>
  /** For areas, while they start. */
  listen(listener: PlatformEventListener): void
}

export const createPlatformEvents = (now: () => number): PlatformEvents => {
  const listeners: PlatformEventListener[] = []

  return {
    isWanted: (organizationId, type) =>
      listeners.some(listener => listener.wants(organizationId, type) !== false),

    async emit(db, ...events) {
      const occurredAt = new Date(now())
      // Not of the clock's time: what keeps events has a partition for each day of the system's.
      const made = events.map(event => ({ ...event, id: `evt_${newId()}`, occurredAt }))
      // Listeners that an area adds while it is loaded for this very event get it too: the loop reaches them.
      for (const listener of listeners) {
        const wanted = made.filter(
          ({ organizationId, type }) => listener.wants(organizationId, type) !== false,
        )
        if (wanted.length > 0) await listener.receive(db, wanted)
      }
    },

    listen(listener) {
      listeners.push(listener)
    },
  }
}
