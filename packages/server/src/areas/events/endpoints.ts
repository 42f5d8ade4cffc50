import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Offer } from "../../kernel/offer.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { Endpoint, Target } from "../../services/deliveries/deliveries.ts"
import { openSecrets, type SigningSecret, secretsAt } from "../../services/deliveries/secrets.ts"
import type { FunctionCaller } from "../functions/offers.ts"
import { type SubscriptionRow, subscriptionStore } from "./store.ts"

/** The topic under which changes of subscriptions are announced. */
export const SUBSCRIPTION_TOPIC = "events.subscription"
const CACHED_MAX = 20_000

type Sealable = Pick<SubscriptionRow, "organization_id" | "id">

/** A subscription with what is sealed in it, opened. */
interface CachedEndpoint {
  readonly row: SubscriptionRow
  readonly headers: Readonly<Record<string, string>>
  readonly secrets: readonly SigningSecret[]
}

export interface Endpoints {
  sealSecret(subscription: Sealable, secret: string): Promise<string>
  /** Undefined where there are none. */
  sealHeaders(subscription: Sealable, headers: Readonly<Record<string, string>>): Promise<string | null>
  /** Where a subscription leads, active or not. */
  of(db: Db, row: SubscriptionRow): Promise<Endpoint>
  /** The active ones of these, from memory where possible. */
  resolve(ids: readonly string[]): Promise<ReadonlyMap<string, Endpoint>>
}

const secretContext = (id: string): string => `events.subscription:${id}`
const headersContext = (id: string): string => `events.subscription.headers:${id}`

export const createEndpoints = (needs: {
  readonly db: Db
  readonly changes: Changes
  readonly box: SecretBox
  readonly functions: Offer<FunctionCaller>
  readonly now: () => number
}): Endpoints => {
  const { db, changes, box, functions, now } = needs

  const read = async (on: Db, row: SubscriptionRow): Promise<CachedEndpoint> => {
    const { organization_id, id } = row
    const old = await subscriptionStore(on).oldSecrets(id).list()
    return {
      row,
      headers:
        row.headers === null
          ? {}
          : JSON.parse(await box.open(organization_id, headersContext(id), row.headers)),
      secrets: await openSecrets(row.secret, old, secret =>
        box.open(organization_id, secretContext(id), secret),
      ),
    }
  }

  const targetOf = ({ row, headers }: CachedEndpoint): Target => {
    if (row.sub_type === "webhook") return { url: row.target, headers }
    const of = {
      ...{ organizationId: row.organization_id, projectId: row.project_id ?? "" },
      name: row.target,
    }
    return {
      name: row.target,
      async invoke({ body, timeoutMs, signal }) {
        const caller = await functions.get()
        if (!caller) return { status: 500, body: "There are no functions on this installation." }
        return caller.invoke(of, { body, timeoutMs, signal, trigger: "event" })
      },
    }
  }

  const toEndpoint = (known: CachedEndpoint): Endpoint => {
    const { row, secrets } = known
    return {
      target: targetOf(known),
      secrets: secretsAt(secrets, now()),
      timeoutSeconds: row.timeout_seconds,
      format: row.format === "cloudevents" ? "cloudevents" : "standard",
      maxPerSecond: row.max_per_second,
      retryScheduleSeconds: row.retry_schedule_seconds,
    }
  }

  const known = createPushedCache<CachedEndpoint | undefined>({
    changes,
    topics: { [SUBSCRIPTION_TOPIC]: "one", organization: "all" },
    async read(id) {
      const row = await subscriptionStore(db).findActive(id)
      return row && read(db, row)
    },
    idOf: subscription => subscription?.row.id,
    entriesMax: CACHED_MAX,
  })

  return {
    sealSecret: ({ organization_id, id }, secret) => box.seal(organization_id, secretContext(id), secret),
    async sealHeaders({ organization_id, id }, headers) {
      if (Object.keys(headers).length === 0) return null
      return box.seal(organization_id, headersContext(id), JSON.stringify(headers))
    },
    of: async (on, row) => toEndpoint(await read(on, row)),
    async resolve(ids) {
      const found = await Promise.all(ids.map(id => known.find(id)))
      return new Map(found.flatMap(one => (one ? [[one.row.id, toEndpoint(one)]] : [])))
    },
  }
}
