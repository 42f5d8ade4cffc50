import type { CronExecutionStatus } from "@svc/contract"
import type { Insertable, Updateable } from "kysely"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type ScheduleRow = Tables["cron.schedules"]
export type ExecutionRow = Tables["cron.executions"]

/** Whose schedules a call may touch: a project's, or the organization's own. */
export interface Owner {
  readonly organizationId: string
  readonly ownerId: string
}

/** Rows of cron.schedules and cron.executions, as callers see and change them. */
export const cronStore = (db: Db) => {
  const schedules = ({ organizationId, ownerId }: Owner) =>
    db
      .selectFrom("cron.schedules")
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)

  const executions = (organizationId: string, scheduleId: string) =>
    db
      .selectFrom("cron.executions")
      .where("organization_id", "=", organizationId)
      .where("schedule_id", "=", scheduleId)

  return {
    insert: async (row: Insertable<ScheduleRow>) => {
      await db.insertInto("cron.schedules").values(row).execute()
    },

    find: (owner: Owner, id: string): Promise<ScheduleRow | undefined> =>
      schedules(owner).selectAll().where("id", "=", id).executeTakeFirst(),

    /** Whoever changes a schedule or its executions takes its row first, so that nobody waits for the other. */
    findForUpdate: (owner: Owner, id: string): Promise<ScheduleRow | undefined> =>
      schedules(owner).selectAll().where("id", "=", id).forNoKeyUpdate().executeTakeFirst(),

    list: (owner: Owner, slice: Slice): Promise<{ rows: ScheduleRow[]; total: number }> =>
      listRows(schedules(owner).selectAll().orderBy("created_at", "desc").orderBy("id", "desc"), slice),

    count: (organizationId: string): Promise<number> =>
      countRows(db.selectFrom("cron.schedules").where("organization_id", "=", organizationId)),

    update: async ({ id, organization_id }: ScheduleRow, changes: Updateable<ScheduleRow>) =>
      await db
        .updateTable("cron.schedules")
        .set(changes)
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirstOrThrow(),

    delete: async ({ id, organization_id }: ScheduleRow) => {
      await db
        .deleteFrom("cron.schedules")
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    listExecutions(
      { id, organization_id }: ScheduleRow,
      { status, ...slice }: Slice & { readonly status: CronExecutionStatus | undefined },
    ): Promise<{ rows: ExecutionRow[]; total: number }> {
      const all = executions(organization_id, id)
      const chosen = status === undefined ? all : all.where("status", "=", status)
      return listRows(chosen.selectAll().orderBy("number", "desc"), slice)
    },

    findExecution: (
      { id, organization_id }: ScheduleRow,
      executionId: string,
    ): Promise<ExecutionRow | undefined> =>
      executions(organization_id, id).selectAll().where("id", "=", executionId).executeTakeFirst(),

    /** Of a schedule that is locked. */
    async insertExecution(
      { id, organization_id }: ScheduleRow,
      given: Pick<ExecutionRow, "id" | "scheduled_for">,
    ): Promise<ExecutionRow> {
      const { number } = await db
        .updateTable("cron.schedules")
        .set({ executions_made: sql<number>`executions_made + 1` })
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .returning("executions_made as number")
        .executeTakeFirstOrThrow()
      return await db
        .insertInto("cron.executions")
        .values({
          ...given,
          ...{ organization_id, schedule_id: id, number, attempt: 0 },
          ...{ due_at: given.scheduled_for, created_at: given.scheduled_for },
          ...{ trigger: "manual", status: "queued" },
        })
        .returningAll()
        .executeTakeFirstOrThrow()
    },

    /** Ends what waits or runs: all of the schedule, or one. Gives what it ended. */
    cancel: async (
      { id, organization_id }: Pick<ScheduleRow, "id" | "organization_id">,
      now: Date,
      executionId?: string,
    ): Promise<ExecutionRow[]> => {
      const unfinished = db
        .updateTable("cron.executions")
        .set({ status: "cancelled", finished_at: now })
        .where("organization_id", "=", organization_id)
        .where("schedule_id", "=", id)
        .where("status", "in", ["queued", "running"])
      const chosen = executionId === undefined ? unfinished : unfinished.where("id", "=", executionId)
      return await chosen.returningAll().execute()
    },
  }
}
