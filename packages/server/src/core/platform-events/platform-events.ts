import type { PlatformEventData, PlatformEventType } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"

/** Something that happened to a tenant, as webhooks and notices tell it. */
export interface PlatformEvent {
  /** The consumer's dedupe key. */
  readonly id: string
  readonly organizationId: string
  readonly projectId: string | null
  readonly type: PlatformEventType
  readonly occurredAt: Date
  readonly data: Readonly<Record<string, unknown>>
}

/** Whoever passes events on: an area that has started. */
export interface PlatformEventListener {
  /** Whether anybody of the organization wants this type. On every effect's path: from memory wherever it can be. */
  wants(organizationId: string, type: PlatformEventType): boolean | Promise<boolean>
  /** On the transaction of the effect: what it writes exists exactly if the effect does. */
  receive(db: Db, events: readonly PlatformEvent[]): Promise<void>
}

export interface NewPlatformEvent<Type extends PlatformEventType> {
  readonly organizationId: string
  readonly projectId: string | null
  readonly type: Type
  readonly data: PlatformEventData<Type>
}

export interface PlatformEvents {
  /** Whether emitting this would do anything: for callers whose effect needs no transaction otherwise. */
  wanted(organizationId: string, type: PlatformEventType): Promise<boolean>
  /** Call it with the transaction of the effect. Costs nothing where nobody listens. */
  emit<Type extends PlatformEventType>(db: Db, ...events: readonly NewPlatformEvent<Type>[]): Promise<void>
  /** For areas, while they start. */
  listen(listener: PlatformEventListener): void
}

export const createPlatformEvents = (now: () => number): PlatformEvents => {
  const listeners: PlatformEventListener[] = []

  return {
    async wanted(organizationId, type) {
      for (const listener of listeners) if (await listener.wants(organizationId, type)) return true
      return false
    },

    async emit(db, ...events) {
      const occurredAt = new Date(now())
      const made = events.map(event => ({ ...event, id: `evt_${newId()}`, occurredAt }))
      for (const listener of listeners) {
        const wanted: PlatformEvent[] = []
        for (const event of made)
          if (await listener.wants(event.organizationId, event.type)) wanted.push(event)
        if (wanted.length > 0) await listener.receive(db, wanted)
      }
    },

    listen(listener) {
      listeners.push(listener)
    },
  }
}
