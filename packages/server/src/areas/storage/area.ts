import { areas } from "@svc/contract"
import { createTenants } from "../../core/organizations/tenants.ts"
import type { AreaState } from "../../kernel/area.ts"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import { bucketTarget } from "../domains/offers.ts"
import { createAccesses } from "./access/access.ts"
import { createStores } from "./access/callers.ts"
import { bucketHandlers } from "./bucket-handlers.ts"
import { createClaims } from "./claims.ts"
import { createDomainTarget } from "./domain-target.ts"
import { lifecycleSchedule } from "./lifecycle.ts"
import { linkHandlers } from "./link-handlers.ts"
import type { Needs } from "./needs.ts"
import { createObjectEvents } from "./object-events.ts"
import { objectHandlers } from "./object-handlers.ts"
import { createObjectReader } from "./object-reader.ts"
import { createObjectStore } from "./objects.ts"
import { objectReader } from "./offers.ts"
import { createQuota } from "./quota.ts"
import { createReceiver } from "./receive.ts"
import { createResumable } from "./resumable.ts"
import { s3Handlers } from "./s3/handlers.ts"
import { s3DomainOf } from "./settings.ts"
import { createSigners } from "./signers.ts"
import { createSigningKeys } from "./signing-keys.ts"
import { stateOf } from "./state.ts"
import { bucketStore } from "./store/buckets.ts"
import { createSweeper } from "./sweeper.ts"
import { tusHandlers } from "./tus-handlers.ts"
import { uploadHandlers } from "./upload-handlers.ts"
import { versionHandlers } from "./version-handlers.ts"

const create = (needs: Needs) => {
  const { database, blob, clock, changes, box } = needs
  const quota = createQuota(bucketStore(database.db), clock)
  const shared = {
    ...{ ...needs, quota, claims: createClaims(), receive: createReceiver({ blob, quota }) },
    s3Domain: s3DomainOf(needs.settings, needs.baseUrl),
    objectEvents: createObjectEvents(needs),
    tenants: createTenants(database.db, changes),
    signers: createSigners(needs),
    signingKeys: createSigningKeys(database.db, box),
  }
  const store = createObjectStore(shared)
  const accesses = createAccesses(needs)
  const stores = createStores({ store, accesses, baseUrl: needs.baseUrl })
  return { ...shared, store, accesses, stores, resumable: createResumable(shared) }
}

const handlers = implement(areas.storage, (needs: ReturnType<typeof create>) => ({
  ...bucketHandlers(needs),
  ...objectHandlers(needs),
  ...versionHandlers(needs),
  ...linkHandlers(needs),
  ...uploadHandlers(needs),
  ...tusHandlers(needs),
}))

export const start = (services: Needs) => {
  const needs = create(services)
  const sweeper = createSweeper(needs)
  services.jobs.schedule(lifecycleSchedule(services))
  services.metrics.collect(() => [
    {
      name: "svc_storage_damaged_blobs",
      type: "gauge",
      help: "Pieces of objects that are not what was written.",
      samples: [{ value: sweeper.damaged() }],
    },
  ])
  return {
    operations: [...handlers(needs), ...s3Handlers(needs)],
    provides: [
      provide(objectReader, createObjectReader(needs)),
      provide(bucketTarget, createDomainTarget({ ...needs, db: needs.database.db })),
    ],
    state(): AreaState | Promise<AreaState> {
      const damaged = sweeper.damaged()
      if (damaged > 0) return { status: "degraded", reason: `${damaged} pieces of objects are damaged` }
      return stateOf(services.blob)
    },
    [Symbol.asyncDispose]: () => sweeper[Symbol.asyncDispose](),
  }
}
