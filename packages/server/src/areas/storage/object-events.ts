/** Tells of objects that come and go. */
import type { PlatformEventData } from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import type { ObjectRecord, Place, RemovedVersion } from "./object-store.ts"
import type { Queries } from "./store/objects.ts"
import { queriesOn } from "./store/transaction.ts"

type ObjectEvent = "storage.object.created" | "storage.object.deleted"

export interface ObjectEvents {
  /**
   * Runs the effect, and tells of it what `dataOf` says of its result. It is one statement on the pool, unless somebody
   * listens: then a transaction, in which what is told commits with it.
   */
  told<Type extends ObjectEvent, Result>(
    place: Place,
    type: Type,
    effect: (db: Queries) => Promise<Result>,
    dataOf: (result: Result) => readonly PlatformEventData<Type>[],
  ): Promise<Result>
  /** On the transaction of the effect. */
  created(tx: Db, place: Place, object: ObjectRecord): Promise<void>
}

export const createdData = ({ bucket, key, size, etag }: ObjectRecord) => ({ bucket, key, size, etag })

/** A key is told of once, however many of its versions went. */
export const deletedData = (bucket: string, removed: readonly RemovedVersion[]) =>
  [...new Set(removed.filter(({ wasThere }) => wasThere).map(({ key }) => key))].map(key => ({ bucket, key }))

export const createObjectEvents = (needs: {
  readonly database: Database
  readonly platformEvents: PlatformEvents
}): ObjectEvents => {
  const { database, platformEvents } = needs
  const of = ({ organization, projectId }: Place) => ({ organizationId: organization.id, projectId })

  return {
    async told(place, type, effect, dataOf) {
      if (!platformEvents.isWanted(place.organization.id, type)) return effect(database.pool)
      return database.transaction(async tx => {
        const result = await effect(queriesOn(tx))
        await platformEvents.emit(tx, ...dataOf(result).map(data => ({ ...of(place), type, data })))
        return result
      })
    },
    created: (tx, place, object) =>
      platformEvents.emit(tx, { ...of(place), type: "storage.object.created", data: createdData(object) }),
  }
}
