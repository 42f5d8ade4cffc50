import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { Endpoint } from "../../services/deliveries/deliveries.ts"
import { openSecrets, type SigningSecret, secretsAt } from "../../services/deliveries/secrets.ts"
import { type WebhookRow, webhookStore } from "./store.ts"

/** The topic under which changes of webhooks are announced. */
export const WEBHOOK_TOPIC = "webhook"
const CACHED_MAX = 20_000

/** Where a webhook is reached, and what signs. */
interface CachedEndpoint {
  readonly id: string
  readonly url: string
  readonly secrets: readonly SigningSecret[]
}

export type Listening = Pick<WebhookRow, "id" | "project_id" | "event_types">

export interface Endpoints {
  /** Sealed for this webhook of this organization. */
  seal(webhook: Pick<WebhookRow, "organization_id" | "id">, secret: string): Promise<string>
  open(webhook: Pick<WebhookRow, "organization_id" | "id" | "secret">): Promise<string>
  /** Where a webhook is reached, active or not. */
  of(db: Db, webhook: WebhookRow): Promise<Endpoint>
  /** The active ones of these, from memory where possible. */
  resolve(ids: readonly string[]): Promise<ReadonlyMap<string, Endpoint>>
  /** Which webhooks of the organization are active; undefined where that is not in memory, and then it soon is. */
  listening(organizationId: string): readonly Listening[] | undefined
}

const sealedFor = (id: string): string => `webhook:${id}`

export const createEndpoints = (needs: {
  readonly db: Db
  readonly changes: Changes
  readonly box: SecretBox
  readonly now: () => number
}): Endpoints => {
  const { db, changes, box, now } = needs

  const open = ({ organization_id, id, secret }: Pick<WebhookRow, "organization_id" | "id" | "secret">) =>
    box.open(organization_id, sealedFor(id), secret)

  const read = async (on: Db, row: WebhookRow): Promise<CachedEndpoint> => {
    const old = await webhookStore(on).oldSecrets(row).list()
    const secrets = await openSecrets(row.secret, old, secret => open({ ...row, secret }))
    return { id: row.id, url: row.url, secrets }
  }

  const toEndpoint = ({ url, secrets }: CachedEndpoint): Endpoint => ({
    target: { url },
    secrets: secretsAt(secrets, now()),
  })

  const known = createPushedCache<CachedEndpoint | undefined>({
    changes,
    topics: { [WEBHOOK_TOPIC]: "one", organization: "all" },
    async read(id) {
      const row = await webhookStore(db).findActive(id)
      return row && read(db, row)
    },
    idOf: webhook => webhook?.id,
    entriesMax: CACHED_MAX,
  })

  const listening = createPushedCache<readonly Listening[]>({
    changes,
    topics: { [WEBHOOK_TOPIC]: "all", organization: "all" },
    read: organizationId => webhookStore(db).listeners(organizationId),
    idOf: () => undefined,
    entriesMax: CACHED_MAX,
  })

  return {
    seal: ({ organization_id, id }, secret) => box.seal(organization_id, sealedFor(id), secret),
    open,
    of: async (on, row) => toEndpoint(await read(on, row)),
    async resolve(ids) {
      const found = await Promise.all(ids.map(id => known.find(id)))
      return new Map(found.flatMap(webhook => (webhook ? [[webhook.id, toEndpoint(webhook)]] : [])))
    },
    listening(organizationId) {
      const found = listening.find(organizationId)
      if (!(found instanceof Promise)) return found
      // Cache miss: loads in the background; callers read the database meanwhile.
      found.catch(() => undefined)
      return undefined
    },
  }
}
