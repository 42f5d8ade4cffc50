import type { Selectable } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type OrganizationRow = Selectable<Tables["core.organizations"]>
export type MemberRow = Tables["core.members"]

/** An organization as one of its members sees it. */
export interface MembershipRow extends OrganizationRow {
  role: string
  project_ids: string[] | null
}

export interface MemberRecord extends MemberRow {
  email: string
  name: string
}

interface Paging {
  limit: number
  offset: number
}

/** Rows of core.organizations and core.members. A deleted organization is in none of the answers. */
export const organizationStore = (db: Db) => {
  const memberships = (userId: string) =>
    db
      .selectFrom("core.members as member")
      .innerJoin("core.organizations as organization", "organization.id", "member.organization_id")
      .selectAll("organization")
      .select(["member.role", "member.project_ids"])
      .where("member.user_id", "=", userId)
      .where("organization.deleted_at", "is", null)

  const members = (organizationId: string) =>
    db
      .selectFrom("core.members as member")
      .innerJoin("core.users as user", "user.id", "member.user_id")
      .selectAll("member")
      .select(["user.email", "user.name"])
      .where("member.organization_id", "=", organizationId)

  const countMembers = async (organizationId: string, role?: string): Promise<number> => {
    let rows = members(organizationId)
    if (role !== undefined) rows = rows.where("member.role", "=", role)
    const { count } = await rows
      .clearSelect()
      .select(eb => eb.fn.countAll<number>().as("count"))
      .executeTakeFirstOrThrow()
    return count
  }

  return {
    /** False when another organization has the slug. */
    async insert(row: OrganizationRow): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("core.organizations")
        .values(row)
        .onConflict(conflict => conflict.column("slug").doNothing())
        .executeTakeFirstOrThrow()
      return numInsertedOrUpdatedRows === 1n
    },

    /** Locks the row until the transaction ends: whatever is counted or compared in an organization takes turns on it. */
    async lock(id: string): Promise<boolean> {
      const row = await db
        .selectFrom("core.organizations")
        .select("id")
        .where("id", "=", id)
        .where("deleted_at", "is", null)
        .forNoKeyUpdate()
        .executeTakeFirst()
      return row !== undefined
    },

    find: (id: string): Promise<OrganizationRow | undefined> =>
      db
        .selectFrom("core.organizations")
        .selectAll()
        .where("id", "=", id)
        .where("deleted_at", "is", null)
        .executeTakeFirst(),

    update: (id: string, change: Partial<OrganizationRow>): Promise<unknown> =>
      db.updateTable("core.organizations").set(change).where("id", "=", id).execute(),

    membership: (userId: string, organizationId: string): Promise<MembershipRow | undefined> =>
      memberships(userId).where("organization.id", "=", organizationId).executeTakeFirst(),

    /** The membership in the organization of that project, else the one that is oldest. */
    defaultMembership: (userId: string, projectId: string | null): Promise<MembershipRow | undefined> =>
      memberships(userId)
        .leftJoin("core.projects as project", join =>
          join
            .onRef("project.organization_id", "=", "organization.id")
            .on("project.id", "=", projectId)
            .on("project.deleted_at", "is", null),
        )
        .orderBy("project.id", order => order.asc().nullsLast())
        .orderBy("member.joined_at")
        .orderBy("organization.id")
        .executeTakeFirst(),

    async listMemberships(
      userId: string,
      { limit, offset }: Paging,
    ): Promise<{ rows: MembershipRow[]; total: number }> {
      const { total } = await memberships(userId)
        .clearSelect()
        .select(eb => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      const rows = await memberships(userId)
        .orderBy("organization.created_at", "desc")
        .orderBy("organization.id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total }
    },

    async countOwned(userId: string, plan: string): Promise<number> {
      const { count } = await memberships(userId)
        .clearSelect()
        .select(eb => eb.fn.countAll<number>().as("count"))
        .where("member.role", "=", "owner")
        .where("organization.plan", "=", plan)
        .executeTakeFirstOrThrow()
      return count
    },

    insertMember: (row: MemberRow): Promise<unknown> => db.insertInto("core.members").values(row).execute(),

    findMember: (organizationId: string, userId: string): Promise<MemberRecord | undefined> =>
      members(organizationId).where("member.user_id", "=", userId).executeTakeFirst(),

    /** The membership, which stays as it is until the transaction ends. */
    lockMember: (organizationId: string, userId: string): Promise<MemberRow | undefined> =>
      db
        .selectFrom("core.members")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("user_id", "=", userId)
        .forShare()
        .executeTakeFirst(),

    findMemberByEmail: (organizationId: string, email: string): Promise<MemberRecord | undefined> =>
      members(organizationId)
        .where(eb => eb(eb.fn("lower", ["user.email"]), "=", eb.fn("lower", [eb.val(email)])))
        .executeTakeFirst(),

    async listMembers(
      organizationId: string,
      { limit, offset }: Paging,
    ): Promise<{ rows: MemberRecord[]; total: number }> {
      const rows = await members(organizationId)
        .orderBy("member.joined_at", "desc")
        .orderBy("member.user_id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: await countMembers(organizationId) }
    },

    countMembers,

    updateMember: (organizationId: string, userId: string, change: Partial<MemberRow>): Promise<unknown> =>
      db
        .updateTable("core.members")
        .set(change)
        .where("organization_id", "=", organizationId)
        .where("user_id", "=", userId)
        .execute(),

    deleteMember: (organizationId: string, userId: string): Promise<unknown> =>
      db
        .deleteFrom("core.members")
        .where("organization_id", "=", organizationId)
        .where("user_id", "=", userId)
        .execute(),
  }
}
