import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { createTenants } from "../../core/organizations/tenants.ts"
import type { AreaState } from "../../kernel/area.ts"
import { implement } from "../../kernel/implement.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import { defineArea, type Services } from "../../services.ts"
import { bucketHandlers } from "./bucket-handlers.ts"
import { createClaims } from "./claims.ts"
import { linkHandlers } from "./link-handlers.ts"
import { createObjectEvents } from "./object-events.ts"
import { objectHandlers } from "./object-handlers.ts"
import { createObjectReader } from "./object-reader.ts"
import { createObjectStore } from "./objects.ts"
import { createQuota } from "./quota.ts"
import { createReceiver } from "./receive.ts"
import { createResumable } from "./resumable.ts"
import { s3Handlers } from "./s3/handlers.ts"
import { createSigners } from "./signers.ts"
import { createSigningKeys } from "./signing-keys.ts"
import { bucketStore } from "./store/buckets.ts"
import { createSweeper, type Sweeper } from "./sweeper.ts"
import { tusHandlers } from "./tus-handlers.ts"
import { uploadHandlers } from "./upload-handlers.ts"

type Needs = Pick<
  Services,
  | "database"
  | "blob"
  | "clock"
  | "log"
  | "changes"
  | "box"
  | "keys"
  | "meters"
  | "metrics"
  | "baseUrl"
  | "s3Domain"
  | "accessKeys"
  | "platformEvents"
>

const create = (needs: Needs) => {
  const { database, blob, clock, changes, box } = needs
  const quota = createQuota(bucketStore(database.db), clock)
  const shared = {
    ...{ ...needs, quota, claims: createClaims(), receive: createReceiver({ blob, quota }) },
    objectEvents: createObjectEvents(needs),
    tenants: createTenants(database.db, changes),
    signers: createSigners(needs),
    signingKeys: createSigningKeys(database.db, box),
  }
  return { ...shared, store: createObjectStore(shared), resumable: createResumable(shared) }
}

const handlers = implement(areas.storage, (needs: ReturnType<typeof create>) => ({
  ...bucketHandlers(needs),
  ...objectHandlers(needs),
  ...linkHandlers(needs),
  ...uploadHandlers(needs),
  ...tusHandlers(needs),
}))

/** Every tenant may read this; what the engine says of itself (addresses, paths) is for the log alone. */
const stateOf = async (blob: BlobPort, sweeper: Sweeper): Promise<AreaState> => {
  const health = await blob.health()
  if (!health.ok)
    return { status: "degraded", reason: "the store of objects does not answer", setting: "SVC_BLOB_S3_URL" }
  const damaged = sweeper.damaged()
  if (damaged > 0) return { status: "degraded", reason: `${damaged} pieces of objects are damaged` }
  return { status: "available", capabilities: { ...blob.capabilities } }
}

export const storageArea = defineArea({
  name: "storage",
  title: "Storage",
  needs: [
    ...([
      "database",
      "blob",
      "clock",
      "log",
      "changes",
      "box",
      "keys",
      "meters",
      "metrics",
      "baseUrl",
      "s3Domain",
      "accessKeys",
      "platformEvents",
      "objects",
    ] as const),
  ],
  migrations: {
    schema: "storage",
    folder: fileURLToPath(new URL("migrations", import.meta.url)),
  },
  start(services) {
    const needs = create(services)
    const sweeper = createSweeper(needs)
    services.metrics.collect(() => [
      {
        name: "svc_storage_damaged_blobs",
        type: "gauge",
        help: "Pieces of objects that are not what was written.",
        samples: [{ value: sweeper.damaged() }],
      },
    ])
    services.objects.provide(createObjectReader(needs))
    return {
      operations: [...handlers(needs), ...s3Handlers(needs)],
      state: () => stateOf(services.blob, sweeper),
      [Symbol.asyncDispose]: () => sweeper[Symbol.asyncDispose](),
    }
  },
})
