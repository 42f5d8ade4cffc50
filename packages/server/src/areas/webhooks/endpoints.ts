import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import { createSignedEndpoints, type SignedEndpoints } from "../../services/deliveries/signed-endpoints.ts"
import { type WebhookRow, webhookStore } from "./store.ts"

/** The topic under which changes of webhooks are announced. */
const WEBHOOK_TOPIC = "webhook"
const CACHED_MAX = 20_000

export type Listening = Pick<WebhookRow, "id" | "project_id" | "event_types">

export interface Endpoints extends SignedEndpoints<WebhookRow> {
  /** Which webhooks of the organization are active; undefined where that is not in memory, and then it soon is. */
  listening(organizationId: string): readonly Listening[] | undefined
}

export const createEndpoints = (needs: {
  readonly db: Db
  readonly changes: Changes
  readonly box: SecretBox
  readonly now: () => number
}): Endpoints => {
  const { db, changes } = needs

  const listening = createPushedCache<readonly Listening[]>({
    changes,
    topics: { [WEBHOOK_TOPIC]: "all", organization: "all" },
    read: organizationId => webhookStore(db).listeners(organizationId),
    idOf: () => undefined,
    entriesMax: CACHED_MAX,
  })

  return {
    ...createSignedEndpoints<WebhookRow>({
      ...needs,
      topic: WEBHOOK_TOPIC,
      findActive: id => webhookStore(db).findActive(id),
      oldSecrets: (on, row) => webhookStore(on).oldSecrets(row),
      settingsOf: async ({ url }) => ({ target: { url } }),
    }),
    listening(organizationId) {
      const found = listening.find(organizationId)
      if (!(found instanceof Promise)) return found
      // Cache miss: loads in the background; callers read the database meanwhile.
      found.catch(() => undefined)
      return undefined
    },
  }
}
