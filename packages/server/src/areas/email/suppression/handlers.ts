import { type areas, type Output, page, pageOf } from "@svc/contract"
import type { Handlers } from "../../../kernel/implement.ts"
import { requireRow } from "../../../kernel/require-row.ts"
import { type SuppressionRow, suppressionKey, suppressionStore } from "./store.ts"

type Specs = typeof areas.email.specs
type Suppression = Output<Specs["suppress"]>

const toSuppression = (row: SuppressionRow): Suppression => ({
  email: row.address,
  reason: row.reason as Suppression["reason"],
  origin: row.origin as Suppression["origin"],
  source_email_id: row.source_email_id,
  created_at: row.created_at.toISOString(),
})

export const suppressionHandlers = (): Pick<
  Handlers<Specs>,
  "listSuppression" | "suppress" | "unsuppress"
> => ({
  async listSuppression(input, call) {
    const filter = { address: input.email && suppressionKey(input.email), reason: input.reason }
    const { rows, total } = await suppressionStore(call.db).list(call.organization.id, filter, pageOf(input))
    return page({ rows: rows.map(toSuppression), total }, input)
  },

  async suppress({ email }, call) {
    const row = await suppressionStore(call.db).add({
      organization_id: call.organization.id,
      address: suppressionKey(email),
      ...{ reason: "manual", origin: "admin", source_email_id: null, created_at: call.now },
    })
    return toSuppression(row)
  },

  async unsuppress({ email }, call) {
    const row = await requireRow(
      suppressionStore(call.db).remove(call.organization.id, suppressionKey(email)),
      "resource_not_found",
    )
    return toSuppression(row)
  },
})
