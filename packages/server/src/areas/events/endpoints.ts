import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Offer } from "../../kernel/offer.ts"
import type { Target } from "../../services/deliveries/deliveries.ts"
import { createSignedEndpoints, type SignedEndpoints } from "../../services/deliveries/signed-endpoints.ts"
import type { FunctionCaller } from "../functions/offers.ts"
import { type SubscriptionRow, subscriptionStore } from "./store.ts"

export interface Endpoints extends SignedEndpoints<SubscriptionRow> {
  /** Undefined where there are none. */
  encryptHeaders(
    subscription: Pick<SubscriptionRow, "organization_id" | "id">,
    headers: Readonly<Record<string, string>>,
  ): Promise<string | null>
}

const headersContext = (id: string): string => `events.subscription.headers:${id}`

export const createEndpoints = (needs: {
  readonly db: Db
  readonly changes: Changes
  readonly box: SecretBox
  readonly functions: Offer<FunctionCaller>
  readonly now: () => number
}): Endpoints => {
  const { db, changes, box, functions, now } = needs

  const headersOf = async ({ organization_id, id, headers }: SubscriptionRow) =>
    headers === null ? {} : JSON.parse(await box.open(organization_id, headersContext(id), headers))

  const targetOf = async (row: SubscriptionRow): Promise<Target> => {
    const headers = await headersOf(row)
    if (row.sub_type === "webhook") return { url: row.target, headers }
    const of = { organizationId: row.organization_id, projectId: row.project_id ?? "", name: row.target }
    return {
      name: row.target,
      async invoke({ body, timeoutMs, signal }) {
        const caller = await functions.get()
        if (!caller) return { status: 500, body: "There are no functions on this installation." }
        return caller.invoke(of, { body, timeoutMs, signal, trigger: "event" })
      },
    }
  }

  return {
    ...createSignedEndpoints<SubscriptionRow>({
      db,
      changes,
      box,
      now,
      topic: "events.subscription",
      findActive: id => subscriptionStore(db).findActive(id),
      oldSecrets: (on, { id }) => subscriptionStore(on).oldSecrets(id),
      settingsOf: async row => ({
        target: await targetOf(row),
        timeoutSeconds: row.timeout_seconds,
        format: row.format === "cloudevents" ? "cloudevents" : "standard",
        maxPerSecond: row.max_per_second,
        retryScheduleSeconds: row.retry_schedule_seconds,
      }),
    }),
    async encryptHeaders({ organization_id, id }, headers) {
      if (Object.keys(headers).length === 0) return null
      return box.seal(organization_id, headersContext(id), JSON.stringify(headers))
    },
  }
}
