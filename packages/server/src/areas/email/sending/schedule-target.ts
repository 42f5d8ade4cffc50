import type { CronTargetOf } from "@svc/contract"
import type { BackgroundMeters } from "../../../core/meters/meters.ts"
import type { ScheduleOwner, ScheduleTarget } from "../../../core/schedule-targets.ts"
import type { Clock } from "../../../kernel/clock.ts"
import type { Database, Db } from "../../../kernel/db/database.ts"
import { fault, isFault } from "../../../kernel/fault.ts"
import { requireRow } from "../../../kernel/require-row.ts"
import { templateStore } from "../templates/store.ts"
import type { Accept } from "./accept.ts"
import { readAddresses } from "./addresses.ts"
import type { Reading, TxInput } from "./reading.ts"
import { messageStore } from "./store.ts"

interface Needs {
  readonly database: Database
  readonly clock: Clock
  readonly meters: BackgroundMeters
  readonly accept: Accept
  readonly reading: Reading
}

type Target = CronTargetOf<"email">

const inputOf = ({ template, to, data }: Target): TxInput =>
  ({ template, to, ...(data && { data }) }) as TxInput

/** The organization of a mail that no call of it asks for; undefined once it is deleted. */
export const organizationOf = (db: Db, id: string) =>
  db
    .selectFrom("core.organizations")
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .select(["id", "plan"])
    .executeTakeFirst()

/** Mails made from a template at the times of a schedule: one a run, however often the run is attempted. */
export const createEmailTarget = ({
  database,
  clock,
  meters,
  accept,
  reading,
}: Needs): ScheduleTarget<"email"> => {
  const send = async (owner: ScheduleOwner, id: string, target: Target): Promise<void> => {
    const { organizationId, projectId } = owner
    const now = new Date(clock.now())
    const sends = await database.transaction(async tx => {
      if (await messageStore(tx).find({ organizationId, projectId: null }, id)) return 0
      const organization = await requireRow(organizationOf(tx, organizationId), "organization_not_found")
      const sender = { organization: organization as Parameters<Accept>[1]["organization"], projectId, now }
      const mail = await reading.transactional(tx, inputOf(target), sender)
      return (await accept(tx, { ...mail, id }, now)).sends
    })
    if (sends > 0)
      meters.count({ organizationId, projectId, metric: "email_sends", quantity: sends, at: now })
  }

  return {
    scope: "email:send",
    async check(owner, target) {
      if (readAddresses("target.to", target.to).length === 0)
        throw fault("invalid_parameter", { reason: "target.to names nobody" })
      await requireRow(templateStore(database.db).findNamed(owner, target.template), "template_not_found", {
        id: target.template,
      })
    },
    async run(run, target) {
      try {
        await send(run, run.executionId, target)
        return { status: "succeeded" }
      } catch (error) {
        if (!isFault(error)) throw error
        return { status: "failed", statusCode: error.status, error: error.message }
      }
    },
  }
}
